from analyzers.rule import defaults
from benchmarks.bench_fold import Timed, sweep_once
from benchmarks.fabricload import BEGIN_AT, ONSET, Load
from roce.fabric import Fabric
from roce.model import Site


def test_the_load_is_healthy_but_for_its_culprits_and_all_of_them_are_found() -> None:
    load = Load(32, 16, 0.1)
    fabric = Fabric(Site(), load.devices, (), load.links())
    judge = Timed(fabric, defaults())
    for sweep in range(ONSET + 4):
        if sweep == 1:
            for facts in load.facts():
                fabric.tell(facts)
        took, _ = sweep_once(fabric, judge, load, sweep)
        if sweep <= ONSET:
            assert judge.open == []
    assert load.culprits > 1
    assert len(judge.open) == load.culprits
    assert {f.rule for f in judge.open} <= {"pause_storm", "slow_receiver"}
    assert all(f.began_at > BEGIN_AT for f in judge.open)
    assert len(took.folds) == 32
    assert 0 < took.concluding <= took.tick
