/* snmpswarm: answers SNMPv2c for many switches at once, from one recording.
 *
 *   cc -O2 -o snmpswarm snmpswarm.c
 *   ./snmpswarm [-p PORT] [-n SWITCHES] [-l PERMILLE] [-s SECONDS] [-g LEAST] FILE.snmprec
 *
 * Every switch is one loopback address, 127.1.0.1, 127.1.0.2, … (250 to a third octet), same port.
 * -l drops that many requests in a thousand; -s ends it by itself; -g: only counters of at least so much grow.
 * Counter32 and Counter64 rows grow by 1000 a second plus a figure that depends on the row and the switch,
 * so that rates can be checked; TimeTicks grow by 100 a second; all else is as recorded.
 * GET, GETNEXT, GETBULK; any community.
 * A response stops before 1,400 bytes, as real agents do.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct { uint32_t *ids; int n; uint8_t *oid; int oidlen; int tag; uint8_t *val; int vallen; uint64_t base; int grows; } Row;
static Row *rows; static int nrows; static uint64_t above;
static double t0;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

static int cmp_ids(const uint32_t *a, int an, const uint32_t *b, int bn) {
    for (int i = 0; i < an && i < bn; i++) if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return an == bn ? 0 : an < bn ? -1 : 1;
}
static int cmp_rows(const void *x, const void *y) { const Row *a = x, *b = y; return cmp_ids(a->ids, a->n, b->ids, b->n); }

static int enc_oid(const uint32_t *ids, int n, uint8_t *out) {
    int o = 0; out[o++] = ids[0] * 40 + ids[1];
    for (int i = 2; i < n; i++) {
        uint32_t v = ids[i]; uint8_t b[5]; int k = 0;
        do { b[k++] = v & 0x7f; v >>= 7; } while (v);
        while (k--) out[o++] = b[k] | (k ? 0x80 : 0);
    }
    return o;
}
static int enc_uint(uint64_t v, uint8_t *out) {           /* shortest unsigned, leading zero if the top bit is set */
    uint8_t b[9]; int k = 0;
    do { b[k++] = v & 0xff; v >>= 8; } while (v);
    if (b[k - 1] & 0x80) b[k++] = 0;
    for (int i = 0; i < k; i++) out[i] = b[k - 1 - i];
    return k;
}
static int enc_len(int n, uint8_t *out) {
    if (n < 128) { out[0] = n; return 1; }
    if (n < 256) { out[0] = 0x81; out[1] = n; return 2; }
    out[0] = 0x82; out[1] = n >> 8; out[2] = n; return 3;
}
static int get_tlv(const uint8_t **p, const uint8_t *end, int *tag, int *len) {
    if (end - *p < 2) return -1;
    *tag = *(*p)++; int l = *(*p)++;
    if (l & 0x80) { int k = l & 0x7f; if (k > 3 || end - *p < k) return -1; l = 0; while (k--) l = l << 8 | *(*p)++; }
    if (l > end - *p) return -1;
    *len = l; return 0;
}
static int64_t get_int(const uint8_t *p, int n) { int64_t v = n && (p[0] & 0x80) ? -1 : 0; while (n--) v = v << 8 | *p++; return v; }
static int dec_oid(const uint8_t *p, int n, uint32_t *ids) {
    int k = 0; if (n < 1) return 0;
    ids[k++] = p[0] >= 80 ? 2 : p[0] / 40; ids[k++] = p[0] >= 80 ? p[0] - 80 : p[0] % 40;
    for (int i = 1; i < n && k < 128;) { uint32_t v = 0; do v = v << 7 | (p[i] & 0x7f); while ((p[i++] & 0x80) && i < n); ids[k++] = v; }
    return k;
}
static int first_after(const uint32_t *ids, int n, int equal_ok) {
    int lo = 0, hi = nrows;
    while (lo < hi) { int m = (lo + hi) / 2, c = cmp_ids(rows[m].ids, rows[m].n, ids, n); if (c < 0 || (c == 0 && !equal_ok)) lo = m + 1; else hi = m; }
    return lo;
}
static int put_vb(uint8_t *out, const uint8_t *oid, int oidlen, int tag, const uint8_t *val, int vallen) {
    uint8_t l1[3], l2[3], l3[3]; int a = enc_len(oidlen, l1), b = enc_len(vallen, l2), in = 2 + a - 0 + oidlen + b + vallen;
    int c = enc_len(in, l3), o = 0;
    out[o++] = 0x30; memcpy(out + o, l3, c); o += c;
    out[o++] = 0x06; memcpy(out + o, l1, a); o += a; memcpy(out + o, oid, oidlen); o += oidlen;
    out[o++] = tag; memcpy(out + o, l2, b); o += b; memcpy(out + o, val, vallen); o += vallen;
    return o;
}
static int put_row(uint8_t *out, int r, unsigned sw, double t) {
    Row *w = &rows[r];
    if (!w->grows) return put_vb(out, w->oid, w->oidlen, w->tag, w->val, w->vallen);
    uint64_t v = w->base + (uint64_t)(t * (w->tag == 0x43 ? 100 : 1000 + (r * 7919u + sw * 104729u) % 1000));
    if (w->tag != 0x46) v &= 0xffffffffu;
    uint8_t b[10]; int n = enc_uint(v, b);
    return put_vb(out, w->oid, w->oidlen, w->tag, b, n);
}
static void load(const char *path) {
    FILE *f = fopen(path, "r"); if (!f) { fprintf(stderr, "snmpswarm: %s: %s\n", path, strerror(errno)); exit(2); }
    char *line = NULL; size_t cap = 0; int room = 0; ssize_t len;
    while ((len = getline(&line, &cap, f)) > 0) {
        while (len && (line[len - 1] == '\n' || line[len - 1] == '\r')) line[--len] = 0;
        char *a = strchr(line, '|'); if (!a) continue; *a++ = 0;
        char *v = strchr(a, '|'); if (!v) continue; *v++ = 0;
        uint32_t ids[128]; int n = 0; for (char *s = line; *s && n < 128;) { ids[n++] = strtoul(s, &s, 10); if (*s == '.') s++; }
        if (n < 3) continue;
        if (nrows == room) rows = realloc(rows, sizeof(Row) * (room = room ? room * 2 : 4096));
        Row *w = &rows[nrows]; memset(w, 0, sizeof *w);
        int hex = strchr(a, 'x') != NULL, type = atoi(a); uint8_t buf[65536]; int bl = 0;
        switch (type) {
        case 2: { int64_t x = strtoll(v, NULL, 10); int k = 8; while (k > 1 && ((x >> (k * 8 - 1)) == 0 || (x >> (k * 8 - 1)) == -1) && ((x >> ((k - 1) * 8 - 1)) == 0 || (x >> ((k - 1) * 8 - 1)) == -1)) k--;
                  for (int i = k - 1; i >= 0; i--) buf[bl++] = x >> (i * 8); w->tag = 2; break; }
        case 4: case 64: if (hex) { for (char *s = v; s[0] && s[1]; s += 2) { unsigned x; sscanf(s, "%2x", &x); buf[bl++] = x; } }
                else if (type == 64) { unsigned q[4] = {0}; sscanf(v, "%u.%u.%u.%u", q, q + 1, q + 2, q + 3); for (int i = 0; i < 4; i++) buf[bl++] = q[i]; }
                else { bl = strlen(v); memcpy(buf, v, bl); }
                w->tag = type == 4 ? 4 : 0x40; break;
        case 6: { uint32_t q[128]; int k = 0; for (char *s = *v == '.' ? v + 1 : v; *s && k < 128;) { q[k++] = strtoul(s, &s, 10); if (*s == '.') s++; else if (*s) break; } if (k < 2) continue; bl = enc_oid(q, k, buf); w->tag = 6; break; }
        case 65: case 70: w->base = strtoull(v, NULL, 10); w->grows = w->base >= above; bl = enc_uint(w->base, buf); w->tag = type == 65 ? 0x41 : 0x46; break;
        case 67: w->grows = 1; w->base = strtoull(v, NULL, 10); w->tag = 0x43; break;
        case 66: bl = enc_uint(strtoull(v, NULL, 10), buf); w->tag = 0x42; break;
        default: continue;
        }
        w->ids = memcpy(malloc(4 * n), ids, 4 * n); w->n = n;
        uint8_t ob[640]; w->oidlen = enc_oid(ids, n, ob); w->oid = memcpy(malloc(w->oidlen), ob, w->oidlen);
        w->val = memcpy(malloc(bl ? bl : 1), buf, bl); w->vallen = bl; nrows++;
    }
    fclose(f); free(line); qsort(rows, nrows, sizeof(Row), cmp_rows);
}

int main(int argc, char **argv) {
    int port = 1161, n = 1, loss = 0, c, secs = 0;
    while ((c = getopt(argc, argv, "p:n:l:s:g:")) != -1)
        switch (c) { case 'p': port = atoi(optarg); break; case 'n': n = atoi(optarg); break; case 'l': loss = atoi(optarg); break; case 's': secs = atoi(optarg); break; case 'g': above = strtoull(optarg, NULL, 10); break; default: return 2; }
    if (optind >= argc) { fprintf(stderr, "usage: snmpswarm [-p PORT] [-n SWITCHES] [-l PERMILLE] [-s SECONDS] [-g LEAST] FILE.snmprec\n"); return 2; }
    load(argv[optind]); t0 = now();
    int s = socket(AF_INET, SOCK_DGRAM, 0), one = 1, big = 8 << 20;
    setsockopt(s, IPPROTO_IP, IP_PKTINFO, &one, sizeof one); setsockopt(s, SOL_SOCKET, SO_RCVBUF, &big, sizeof big); setsockopt(s, SOL_SOCKET, SO_SNDBUF, &big, sizeof big);
    struct timeval tv = {1, 0}; setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    struct sockaddr_in me = {.sin_family = AF_INET, .sin_port = htons(port)}; inet_pton(AF_INET, "0.0.0.0", &me.sin_addr);
    if (bind(s, (void *)&me, sizeof me)) { perror("snmpswarm: bind"); return 2; }
    printf("snmpswarm: %d rows, %d switches from 127.1.0.1, port %d\n", nrows, n, port); fflush(stdout);
    static uint8_t in[65536], vbs[65536], out[65536]; unsigned long long reqs = 0, sent = 0;
    for (;;) {
        if (secs && now() - t0 > secs) break;
        struct sockaddr_in from; struct iovec iov = {in, sizeof in}; uint8_t ctl[256];
        struct msghdr m = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof ctl};
        ssize_t got = recvmsg(s, &m, 0); if (got <= 0) continue;
        struct in_pktinfo *pi = NULL; for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) if (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_PKTINFO) pi = (void *)CMSG_DATA(h);
        if (!pi) continue;
        uint32_t a = ntohl(pi->ipi_addr.s_addr); if (a >> 24 != 127) continue;              /* loopback only */
        int sw = ((a >> 8 & 0xff) * 250) + (a & 0xff) - 1; if ((a >> 16 & 0xff) != 1) sw = 0; if (sw < 0 || sw >= n) continue;
        reqs++; if (loss && rand() % 1000 < loss) continue;
        const uint8_t *p = in, *end = in + got; int tag, len;
        if (get_tlv(&p, end, &tag, &len) || tag != 0x30) continue;
        const uint8_t *head = p; if (get_tlv(&p, end, &tag, &len)) continue; p += len;        /* version */
        if (get_tlv(&p, end, &tag, &len)) continue; p += len; int headlen = p - head;          /* community */
        int pdu; if (get_tlv(&p, end, &pdu, &len) || (pdu != 0xa0 && pdu != 0xa1 && pdu != 0xa5)) continue;
        const uint8_t *rid = p; if (get_tlv(&p, end, &tag, &len)) continue; p += len; int ridlen = p - rid;
        if (get_tlv(&p, end, &tag, &len)) continue; int64_t nonrep = get_int(p, len); p += len;
        if (get_tlv(&p, end, &tag, &len)) continue; int64_t maxrep = get_int(p, len); p += len;
        if (get_tlv(&p, end, &tag, &len)) continue;
        double t = now() - t0; int o = 0, k = 0; uint32_t at[128][64]; int atn[128]; int done[128];
        uint32_t ids[128]; const uint8_t *raw[128]; int rawlen[128]; int nv = 0;
        while (p < end && nv < 128) { int l; if (get_tlv(&p, end, &tag, &l)) break; const uint8_t *q = p; p += l; int ol; if (get_tlv(&q, p, &tag, &ol)) break; raw[nv] = q; rawlen[nv] = ol; atn[nv] = dec_oid(q, ol, ids); if (atn[nv] > 64) atn[nv] = 64; memcpy(at[nv], ids, 4 * atn[nv]); done[nv] = 0; nv++; }
        static const uint8_t none[1];
        if (pdu == 0xa0) for (; k < nv; k++) {
            int r = first_after(at[k], atn[k], 1);
            if (r < nrows && !cmp_ids(rows[r].ids, rows[r].n, at[k], atn[k])) o += put_row(vbs + o, r, sw, t); else o += put_vb(vbs + o, raw[k], rawlen[k], 0x81, none, 0);
        } else {
            if (pdu == 0xa1) { nonrep = nv; maxrep = 0; }
            for (int rep = 0; rep < (maxrep ? maxrep : 1); rep++) for (k = 0; k < nv; k++) {
                if (k < nonrep && rep) continue; if (k >= nonrep && !maxrep && pdu == 0xa5) continue; if (done[k]) continue;
                int r = first_after(at[k], atn[k], 0);
                if (r >= nrows) { uint8_t ob[640]; int ol = enc_oid(at[k], atn[k], ob); o += put_vb(vbs + o, ob, ol, 0x82, none, 0); done[k] = 1; continue; }
                int w = put_row(vbs + o, r, sw, t);
                if (o + w > 1330 && o) { rep = 1 << 30; break; }
                o += w; atn[k] = rows[r].n > 64 ? 64 : rows[r].n; memcpy(at[k], rows[r].ids, 4 * atn[k]);
                if (rep == (1 << 30)) break;
            }
        }
        uint8_t l[3]; uint8_t body[65536]; int b = 0, ll;
        memcpy(body + b, rid, ridlen); b += ridlen; memcpy(body + b, "\x02\x01\x00\x02\x01\x00", 6); b += 6;
        body[b++] = 0x30; ll = enc_len(o, l); memcpy(body + b, l, ll); b += ll; memcpy(body + b, vbs, o); b += o;
        uint8_t pl[3]; int pll = enc_len(b, pl), total = headlen + 1 + pll + b, z = 0;
        out[z++] = 0x30; ll = enc_len(total, l); memcpy(out + z, l, ll); z += ll; memcpy(out + z, head, headlen); z += headlen; out[z++] = 0xa2; memcpy(out + z, pl, pll); z += pll; memcpy(out + z, body, b); z += b;
        struct iovec ov = {out, z}; uint8_t oc[CMSG_SPACE(sizeof(struct in_pktinfo))]; memset(oc, 0, sizeof oc);
        struct msghdr om = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &ov, .msg_iovlen = 1, .msg_control = oc, .msg_controllen = sizeof oc};
        struct cmsghdr *h = CMSG_FIRSTHDR(&om); h->cmsg_level = IPPROTO_IP; h->cmsg_type = IP_PKTINFO; h->cmsg_len = CMSG_LEN(sizeof(struct in_pktinfo));
        struct in_pktinfo *po = (void *)CMSG_DATA(h); po->ipi_spec_dst = pi->ipi_addr;
        if (sendmsg(s, &om, 0) > 0) sent++;
    }
    printf("snmpswarm: %llu requests, %llu responses\n", reqs, sent);
    return 0;
}
