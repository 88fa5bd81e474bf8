/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listings in all formats against what they must print, character by character.
 */
#include "tests/lib/report_sample.h"
#include "tests/tap.h"

static void check(const char *path, const char *args, const char *want)
{
	int status;
	char *err, *out = report_run(path, args, &status, &err);

	CHECK_INT(status, 0);
	CHECK_STR(out, want);
	free(out);
	free(err);
}

#define REQ_TEXT                                                           \
	"bf = -1, on = true, name = \"abc\", '\\000' <repeats 12 times>, " \
	"d = 0.10000000000000001, handler = 0x401136 <on_req>}"

static void test_text(void)
{
	char *path = report_save(report_sample());

	check(path, "--limit 1",
	      "    0.000001204 [000] 71/72 srv handle: len = 12, uri = \"/a\\\"\\n\", "
	      "req = {uri = \"/b\", flags = (RD | WR), {b = 12, c = 12 '\\f'}, " REQ_TEXT ", "
	      "p = (struct req *) 0x7ffd10: {uri = <fault at 0x5000>, "
	      "flags = (RD | unknown: 0x8), {b = -1, c = 255 '\\377'}, " REQ_TEXT ", "
	      "fp = (void (*)(int)) 0x401136 <on_req>, x = <optimized out>\n");
	check(path, "--probe put",
	      "    0.000001500 [001] 90/90 =cmd put (put a.c:7): len = 9223372036854775808, n = 0\n"
	      "    0.000001501 [001] 90/90 =cmd put (put a.c:9): len = 9223372036854775808, n = "
	      "1\n");
	check(path, "--fields ts,uri,p,x --probe handle --where 'len <= 0'",
	      "0.000002204 uri = <fault at 0x4000> p = (struct req *) 0x10: <fault at 0x10> "
	      "x = <optimized out>\n"
	      "0.000003204 uri = 0x0 p = (struct req *) 0x0 x = <optimized out>\n");
}

#define REQ_JSON "\"bf\":-1,\"on\":true,\"name\":\"abc\",\"d\":0.1,\"handler\":\"0x401136\"}"

static void test_json(void)
{
	char *path = report_save(report_sample());

	check(path, "--json --limit 1",
	      "{\"ts\":1204,\"cpu\":0,\"pid\":71,\"tid\":72,\"comm\":\"srv\",\"probe\":\"handle\","
	      "\"func\":\"handle\",\"src\":\"srv.c:31\",\"values\":{\"len\":12,"
	      "\"uri\":\"/a\\\"\\n\",\"req\":{\"uri\":\"/b\",\"flags\":\"RD|WR\",\"b\":12,"
	      "\"c\":12," REQ_JSON ",\"p\":{\"@\":\"0x7ffd10\",\"uri\":null,\"flags\":9,\"b\":-1,"
	      "\"c\":255," REQ_JSON ",\"fp\":\"0x401136\",\"x\":null},"
	      "\"status\":{\"p.uri\":\"fault\",\"x\":\"optimized-out\"}}\n");
	check(path, "--json --fields ts,uri,p --where 'len <= 0'",
	      "{\"ts\":2204,\"values\":{\"uri\":null,\"p\":{\"@\":\"0x10\"}},"
	      "\"status\":{\"uri\":\"fault\",\"p\":\"fault\"}}\n"
	      "{\"ts\":3204,\"values\":{\"uri\":null,\"p\":\"0x0\"}}\n");
	check(path, "--json --fields tid,len --probe put --limit 1",
	      "{\"tid\":90,\"values\":{\"len\":9223372036854775808}}\n");
	check(path, "--json --json-strings --fields len,n --probe put --limit 1",
	      "{\"values\":{\"len\":\"9223372036854775808\",\"n\":0}}\n");
	check(path, "--json --addr --fields addr,inlined_in --limit 1",
	      "{\"addr\":\"0x1000\",\"inlined_in\":null}\n");
	check(path, "--json --clock unix --fields ts --limit 1", "{\"ts\":1700000000000001204}\n");
	check(path, "--json --clock mono --fields ts --limit 1", "{\"ts\":2204}\n");
}

static void test_csv(void)
{
	char *path = report_save(report_sample());

	check(path, "--csv --fields ts,comm,status,len,uri,x,n",
	      "ts,comm,status,handle:len,put:len,uri,x,n\r\n"
	      "1204,srv,x=optimized-out,12,,\"/a\"\"\n\",,\r\n"
	      "1500,'=cmd,,,9223372036854775808,,,0\r\n"
	      "1501,'=cmd,,,9223372036854775808,,,1\r\n"
	      "2204,srv,uri=fault;x=optimized-out,-3,,,,\r\n"
	      "3204,srv,x=optimized-out,0,,,,\r\n");
	check(path, "--csv --no-guard --fields comm --pid 90 --limit 1", "comm\r\n=cmd\r\n");
	check(path, "--csv --fields p --where 'len == 12' --probe handle",
	      "p.@,p.uri,p.flags,p.b,p.c,p.bf,p.on,p.name,p.d,p.handler\r\n"
	      "0x7ffd10,,9,-1,255,-1,true,abc,0.1,0x401136\r\n");
	check(path, "--csv --probe put --limit 1",
	      "ts,cpu,pid,tid,comm,probe,func,src,status,len,n\r\n"
	      "1500,1,90,90,'=cmd,put,put,a.c:7,,9223372036854775808,0\r\n");
}

static void test_select(void)
{
	char *path = report_save(report_sample());

	check(path, "--fields ts --time 0.0000015,0.000001501", "0.000001500\n0.000001501\n");
	check(path, "--fields ts --time 2204ns,", "0.000002204\n0.000003204\n");
	check(path, "--fields ts --time ,1204ns", "0.000001204\n");
	check(path, "--fields ts --clock unix --time 1700000000.000003204,",
	      "1700000000.000003204\n");
	check(path, "--fields ts --tid 90,1 --limit 1", "0.000001500\n");
	check(path, "--fields ts --comm s?v --limit 1", "0.000001204\n");
	check(path, "--fields ts --probe 'h*' --limit 0 --where 'len == 0'", "0.000003204\n");
	check(path, "--fields ts --where '$comm == \"=cmd\" && $cpu == 1 && n'", "0.000001501\n");
	check(path, "--fields ts --where 'uri == \"/a\\\"\\n\"'", "0.000001204\n");
	check(path, "--fields ts --where 'p->flags & 8'", "0.000001204\n");
	check(path, "--fields ts --where 'req.flags == (RD | WR)' --limit 1", "0.000001204\n");
}

int main(void)
{
	TAP_RUN(test_text);
	TAP_RUN(test_json);
	TAP_RUN(test_csv);
	TAP_RUN(test_select);
	return tap_done();
}
