package cetcd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// The requests below are sent to Consul and to the proxy. Both must give the same
// answers, equal to the answers recorded from Consul in testdata/kv.txt.
//
// Three differences are known and left out. Consul answers invalid numbers with 500,
// the proxy with 400; a put that changes nothing moves no index in Consul; and the
// proxy has no sessions.
func TestKVInterface(t *testing.T) {
	t.Run("cetcd", func(t *testing.T) { databasetest.Golden(t, "testdata/kv.txt", transcript(t, startProxy(t))) })
	t.Run("consul", func(t *testing.T) { databasetest.Golden(t, "testdata/kv.txt", transcript(t, startConsul(t))) })
}

// exchanges returns the requests, as "METHOD PATH [BODY]". {x} is the ModifyIndex that
// the key x had when it was last read, {bytes N} a body of that many bytes.
func exchanges() []string {
	return strings.Split(strings.TrimSpace(`
GET /v1/kv/?keys
GET /v1/kv/?recurse
GET /v1/kv/a
GET /v1/kv/a?raw
PUT /v1/kv/a one
GET /v1/kv/a
GET /v1/kv/a?raw
GET /v1/kv/a?stale
GET /v1/kv/a?consistent
GET /v1/kv/a?pretty=false&raw
PUT /v1/kv/a?flags=42 two
GET /v1/kv/a
PUT /v1/kv/a three
GET /v1/kv/a
PUT /v1/kv/a?flags=18446744073709551615 four
GET /v1/kv/a
PUT /v1/kv/empty
GET /v1/kv/empty
GET /v1/kv/empty?raw
PUT /v1/kv/bytes `+"\x00\xff\x80%"+`
GET /v1/kv/bytes
GET /v1/kv/bytes?raw
PUT /v1/kv/a?cas=0 no
PUT /v1/kv/a?cas=1 no
GET /v1/kv/a
PUT /v1/kv/a?cas={a}&flags=3 five
PUT /v1/kv/a?cas={a} stale
GET /v1/kv/a
PUT /v1/kv/new?cas=9 no
PUT /v1/kv/new?cas=0 yes
GET /v1/kv/new
PUT /v1/kv/x/ folder
PUT /v1/kv/x/1/a 1a
PUT /v1/kv/x/1/b?flags=7 1b
PUT /v1/kv/x/2 2
PUT /v1/kv/xy y
PUT /v1/kv/x/1-1 dash
GET /v1/kv/x
GET /v1/kv/x/
GET /v1/kv/x?keys
GET /v1/kv/x/?keys
GET /v1/kv/x/?keys&separator=/
GET /v1/kv/x?keys&separator=/
GET /v1/kv/x/1?keys&separator=-
GET /v1/kv/x/?keys&seperator=/
GET /v1/kv/?keys&separator=/
GET /v1/kv/?keys
GET /v1/kv/x/?recurse
GET /v1/kv/x/?recurse&stale
GET /v1/kv/x/?recurse&raw
GET /v1/kv/a?recurse
GET /v1/kv/missing?keys
GET /v1/kv/missing?recurse
DELETE /v1/kv/missing
DELETE /v1/kv/missing?cas=9
DELETE /v1/kv/a?cas=1
DELETE /v1/kv/a?cas=0
GET /v1/kv/a
DELETE /v1/kv/a?cas={a}
GET /v1/kv/a
DELETE /v1/kv/new
DELETE /v1/kv/new
GET /v1/kv/new
DELETE /v1/kv/x/?recurse
GET /v1/kv/x?keys
DELETE /v1/kv/nothing?recurse
PUT /v1/kv/a%20b%2Fc%3Fd%25 odd
GET /v1/kv/a%20b/c%3Fd%25
GET /v1/kv/a%20?keys
PUT /v1/kv/%C3%A9 accent
GET /v1/kv/%C3%A9
PUT /v1/kv/a%00b no
GET /v1/kv/a%0A
PUT /v1/kv/%FF no
GET /v1/kv//double
GET /v1/kv/a/../b
GET /v1/kv/a/./b
GET /v1/kv/
PUT /v1/kv/ no
DELETE /v1/kv/
PUT /v1/kv/a?cas=0&acquire=s no
DELETE /v1/kv/a?cas=0&recurse
GET /v1/kv/a?stale&consistent
GET /v1/kv/a?index=x
GET /v1/kv/a?index=1&wait=x
POST /v1/kv/a no
PUT /v1/kv/large {bytes 524288}
GET /v1/kv/large?raw
PUT /v1/kv/large {bytes 524289}
PUT /v1/kv/larger {bytes 1000000}
GET /v1/kv/large?raw
DELETE /v1/kv/?recurse
GET /v1/kv/?keys
PUT /v1/txn [{"KV":{"Verb":"cas","Key":"t1","Value":"b25l","Index":0}},{"KV":{"Verb":"cas","Index":0,"Key":"t2","Value":"dHdv","Flags":7}}]
PUT /v1/txn [{"KV":{"Verb":"cas","Key":"t1","Value":"bm8=","Index":0}}]
GET /v1/kv/t1
PUT /v1/txn [{"KV":{"Verb":"set","Key":"t3","Value":"bm8="}},{"KV":{"Verb":"cas","Key":"t1","Value":"bm8=","Index":1}}]
GET /v1/kv/t?recurse
PUT /v1/txn [{"KV":{"Verb":"cas","Key":"t4","Value":"bm8=","Index":9}}]
PUT /v1/txn [{"KV":{"Verb":"set","Key":"","Value":"bm8="}}]
PUT /v1/txn {}
GET /v1/kv/?keys
DELETE /v1/kv/?recurse`), "\n")
}

// transcript makes the requests and returns the answers, one a line.
func transcript(t *testing.T, base string) []byte {
	t.Helper()
	indexes := map[string]uint64{} // by key
	var lines []string
	for _, exchange := range exchanges() {
		method, rest, _ := strings.Cut(exchange, " ")
		path, body, _ := strings.Cut(rest, " ")
		if size, found := strings.CutPrefix(body, "{bytes "); found {
			n, err := strconv.Atoi(strings.TrimSuffix(size, "}"))
			if err != nil {
				t.Fatalf("parse a number: %v", err)
			}
			body = strings.Repeat("v", n)
		}
		for key, index := range indexes {
			path = strings.ReplaceAll(path, "{"+key+"}", fmt.Sprint(index))
		}
		lines = append(lines, fmt.Sprintf("%q\n\t%s", exchange, ask(t, base, method, path, body, indexes)))
	}
	return []byte(ranked(strings.Join(lines, "\n") + "\n"))
}

// ask makes one request and describes the answer. Error bodies are left out: Consul and the proxy
// word them differently.
func ask(t *testing.T, base, method, path, body string, indexes map[string]uint64) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatalf("make a request: %v", err)
	}
	if len(body) > maxValue {
		req.Header.Set("Expect", "100-continue")
	}
	transport := &http.Transport{ExpectContinueTimeout: 1e9, DisableKeepAlives: true, DisableCompression: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	_ = resp.Body.Close()
	out := strconv.Itoa(resp.StatusCode)
	if resp.StatusCode < 300 {
		out += " " + resp.Header.Get("Content-Type")
	}
	if method == http.MethodGet && (resp.StatusCode == 200 || resp.StatusCode == 404) {
		index, err := strconv.Atoi(resp.Header.Get("X-Consul-Index"))
		if err != nil || index < 1 {
			t.Errorf("GET %s: X-Consul-Index is %q", path, resp.Header.Get("X-Consul-Index"))
		}
		out += fmt.Sprintf(" leader=%s contact=%s", resp.Header.Get("X-Consul-KnownLeader"), resp.Header.Get("X-Consul-LastContact"))
	}
	switch location := resp.Header.Get("Location"); {
	case location != "":
		return out + " to " + location
	case resp.StatusCode >= 400:
		return out
	case len(got) > 1000:
		return out + fmt.Sprintf(" %d bytes", len(got))
	}
	var pairs []struct {
		Key         string
		ModifyIndex uint64
	}
	if json.Unmarshal(got, &pairs) == nil {
		for _, p := range pairs {
			indexes[p.Key] = p.ModifyIndex
		}
	}
	return out + " " + strconv.Quote(string(bytes.TrimSpace(got)))
}

// ranked replaces every index in pairs by its rank among all indexes: the indexes of two databases
// differ, but not their order.
func ranked(text string) string {
	index := regexp.MustCompile(`(CreateIndex|ModifyIndex)(\\":)([0-9]+)`)
	var all []int
	for _, m := range index.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[3])
		all = append(all, n)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return index.ReplaceAllStringFunc(text, func(s string) string {
		m := index.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[3])
		rank, _ := slices.BinarySearch(all, n)
		return fmt.Sprintf("%s%s#%d", m[1], m[2], rank+1)
	})
}

// startProxy starts one etcd member with its proxy and returns the proxy URL.
func startProxy(t testing.TB) string {
	t.Helper()
	s := suite()
	s.Addrs = []string{"127.0.6.4"}
	return "http://" + databasetest.Start(t, s, 1).Target().Endpoints[0]
}

// startConsul starts one Consul member and returns its URL.
func startConsul(t testing.TB) string {
	t.Helper()
	return "http://" + databasetest.Start(t, databasetest.Suite{
		Database: consul.Database(),
		Addrs:    []string{"127.0.6.5"},
		Tools:    databasetest.Release(t, consul.Database(), "1.16.0"),
	}, 1).Target().Endpoints[0]
}
