import inspect

from roce import errors


def test_everything_we_raise_is_one_family() -> None:
    ours = [
        thing
        for _, thing in inspect.getmembers(errors, inspect.isclass)
        if thing.__module__ == errors.__name__
    ]
    assert len(ours) == 6
    assert all(issubclass(each, errors.RocediagError) for each in ours)


def test_refusing_is_a_way_of_not_answering() -> None:
    assert issubclass(errors.Denied, errors.Unreachable)
    assert not issubclass(errors.Unreachable, errors.DataError)


def test_the_tree_in_the_docstring_names_every_error() -> None:
    tree = errors.__doc__ or ""
    for name, _ in inspect.getmembers(errors, inspect.isclass):
        assert name in tree
