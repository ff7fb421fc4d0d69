package cetcd

import (
	"bufio"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coreos/dbtester/pkg/database"
)

// pair is a key and its value as Consul writes them. An empty value is null.
type pair struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte
	CreateIndex int64
	ModifyIndex int64
}

// The maximum number of keys that one request to etcd may return: for every page, etcd counts all
// keys that follow it.
const (
	keysPage  = 50_000
	pairsPage = 500
)

// get reads one key, all pairs under a prefix, or all keys under one.
func (p *proxy) get(w http.ResponseWriter, r *request) error {
	if r.has("stale") && r.has("consistent") {
		return badRequest("Cannot specify ?stale with ?consistent, conflicting semantics.")
	}
	many := r.has("keys") || r.has("recurse")
	if !many && r.key == "" {
		return errMissingKey
	}
	if err := p.block(r, many); err != nil {
		return err
	}
	switch {
	case r.has("keys"):
		return p.getKeys(w, r)
	case r.has("recurse"):
		return p.getPairs(w, r)
	}
	resp, err := p.store.read(r.Context(), &pb.RangeRequest{Key: []byte(r.key), Serializable: r.serializable()})
	if err != nil {
		return err
	}
	if len(resp.Kvs) == 0 {
		p.setMeta(w, r, resp.Header.Revision)
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	found, err := pairOf(resp.Kvs[0])
	if err != nil {
		return err
	}
	p.setMeta(w, r, found.ModifyIndex)
	if r.has("raw") {
		return writeRaw(w, found.Value)
	}
	return writeJSON(w, []pair{found})
}

// writeRaw answers with a raw value, which a browser must not interpret as a page.
func writeRaw(w http.ResponseWriter, value []byte) error {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "sandbox")
	w.Header().Set("Content-Length", strconv.Itoa(len(value)))
	_, _ = w.Write(value) // an error means the client is gone
	return nil
}

// getPairs answers with all pairs under a prefix, or with 404 if there are none.
func (p *proxy) getPairs(w http.ResponseWriter, r *request) error {
	list := &listing{w: w, meta: func(revision int64) { p.setMeta(w, r, revision) }}
	query := &pb.RangeRequest{Limit: pairsPage, Serializable: r.serializable()}
	err := p.store.pages(r.Context(), r.key, query, func(page *pb.RangeResponse) error {
		list.begin(page)
		for _, kv := range page.Kvs {
			found, err := pairOf(kv)
			if err != nil {
				return err
			}
			if err := list.add(found); err != nil {
				return err
			}
		}
		return nil
	})
	return list.end(err, true)
}

// getKeys answers with the names of all keys under a prefix, cut after the first separator behind
// it. Without any it answers 404, except for the whole store.
func (p *proxy) getKeys(w http.ResponseWriter, r *request) error {
	separator := r.params.Get("separator")
	if separator == "" {
		separator = r.params.Get("seperator") // the first spelling in Consul
	}
	list := &listing{w: w, meta: func(revision int64) { p.setMeta(w, r, revision) }}
	query := &pb.RangeRequest{Limit: keysPage, KeysOnly: true, Serializable: r.serializable()}
	last := ""
	err := p.store.pages(r.Context(), r.key, query, func(page *pb.RangeResponse) error {
		list.begin(page)
		for _, kv := range page.Kvs {
			name := string(kv.Key)
			below, err := database.WithoutPrefix(r.key, name)
			if err != nil {
				return err
			}
			if separator != "" {
				if i := strings.Index(below, separator); i >= 0 {
					name = name[:len(r.key)+i+len(separator)]
				}
				if name == last {
					continue
				}
				last = name
			}
			if err := list.add(name); err != nil {
				return err
			}
		}
		return nil
	})
	return list.end(err, r.key != "")
}

// listing streams a JSON list.
type listing struct {
	w    http.ResponseWriter
	meta func(revision int64)

	buffer *bufio.Writer
	begun  bool // with an item, so the answer is 200
}

// begin takes the revision of the first page.
func (l *listing) begin(page *pb.RangeResponse) {
	if l.buffer == nil {
		l.buffer = bufio.NewWriter(l.w)
		l.meta(page.Header.Revision)
	}
}

func (l *listing) add(item any) error {
	data, err := json.Marshal(item)
	if err != nil {
		return err
	}
	open := byte(',')
	if !l.begun {
		l.begun, open = true, '['
		l.w.Header().Set("Content-Type", "application/json")
	}
	if err := l.buffer.WriteByte(open); err != nil {
		return err
	}
	_, err = l.buffer.Write(data)
	return err
}

// end closes the list. A list that was begun and cannot be completed must not look
// complete, so its connection is aborted.
func (l *listing) end(err error, emptyIsMissing bool) error {
	switch {
	case err != nil && l.begun:
		panic(http.ErrAbortHandler)
	case err != nil:
		return err
	case !l.begun && emptyIsMissing:
		l.w.WriteHeader(http.StatusNotFound)
		return nil
	case !l.begun:
		return writeJSON(l.w, []string{})
	}
	_ = l.buffer.WriteByte(']')
	_ = l.buffer.Flush() // an error means the client is gone
	return nil
}

// pairOf converts the etcd entry for a key.
func pairOf(kv *mvccpb.KeyValue) (pair, error) {
	flags, value, ok := decodeValue(kv.Value)
	if !ok {
		return pair{}, answer{http.StatusInternalServerError, "a value was not stored by this proxy"}
	}
	if len(value) == 0 {
		value = nil
	}
	return pair{
		Key: string(kv.Key), Flags: flags, Value: value,
		CreateIndex: kv.CreateRevision, ModifyIndex: kv.ModRevision,
	}, nil
}

// setMeta sets the headers for the read index and the leader state. The time since the last contact
// with the leader is 0: a linearizable read has just had contact, and etcd does not report the time
// for a stale read.
func (p *proxy) setMeta(w http.ResponseWriter, r *request, revision int64) {
	h := w.Header()
	h.Set("X-Consul-Index", strconv.FormatInt(max(revision, 1), 10))
	h.Set("X-Consul-KnownLeader", strconv.FormatBool(!r.has("stale") || p.knowsLeader.Load()))
	h.Set("X-Consul-LastContact", "0")
}

// The time that a blocking query waits, as in Consul. Up to a sixteenth is added at
// random, so that not all queries return at once.
const (
	defaultWait = 5 * time.Minute
	longestWait = 10 * time.Minute
)

// block delays a request that has an index until something was written after that index.
func (p *proxy) block(r *request, many bool) error {
	index, err := strconv.ParseUint(r.params.Get("index"), 10, 64)
	if err != nil && r.params.Get("index") != "" {
		return badRequest("Invalid index")
	}
	wait := time.Duration(0)
	if text := r.params.Get("wait"); text != "" {
		if wait, err = time.ParseDuration(text); err != nil {
			return badRequest("Invalid wait time")
		}
	}
	if index == 0 {
		return nil
	}
	if wait <= 0 {
		wait = defaultWait
	}
	wait = min(wait, longestWait)
	ctx, cancel := context.WithTimeout(r.Context(), wait+rand.N(wait/16+1))
	defer cancel()
	defer context.AfterFunc(p.stopping, cancel)()
	key, end := []byte(r.key), []byte(nil)
	if many {
		key, end = span(r.key)
	}
	r.woken, err = p.store.await(ctx, key, end, revision(index))
	return err
}

// serializable reports whether etcd may answer a read without asking other members. A read an event
// woke must not be serializable: etcd sends events a moment before such reads see the write.
func (r *request) serializable() bool { return r.has("stale") && !r.woken }
