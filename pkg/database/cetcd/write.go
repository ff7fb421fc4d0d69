package cetcd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// put creates or overwrites a key. Consul skips a write that does not change the value;
// here every write changes the key's index.
func (p *proxy) put(w http.ResponseWriter, r *request) error {
	if r.key == "" {
		return errMissingKey
	}
	if err := r.atMostOne("cas", "acquire", "release"); err != nil {
		return err
	}
	if r.has("acquire") || r.has("release") {
		return badRequest("sessions are not supported")
	}
	flags, err := r.number("flags")
	if err != nil {
		return err
	}
	stored, err := readValue(r, flags)
	if err != nil {
		return err
	}
	key := []byte(r.key)
	if !r.has("cas") {
		if err := p.store.put(r.Context(), key, stored); err != nil {
			return err
		}
		return writeJSON(w, true)
	}
	index, err := r.index()
	if err != nil {
		return err
	}
	done, _, err := p.store.compare(r.Context(), key, index, &pb.RequestOp{
		Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: stored}},
	})
	if err != nil {
		return err
	}
	return writeJSON(w, done)
}

// delete removes a key, or all keys that begin with it.
func (p *proxy) delete(w http.ResponseWriter, r *request) error {
	if err := r.atMostOne("recurse", "cas"); err != nil {
		return err
	}
	key, end := []byte(r.key), []byte(nil)
	switch {
	case r.has("recurse"):
		key, end = span(r.key)
	case r.key == "":
		return errMissingKey
	}
	if !r.has("cas") {
		if err := p.store.remove(r.Context(), key, end); err != nil {
			return err
		}
		return writeJSON(w, true)
	}
	index, err := r.index()
	if err != nil {
		return err
	}
	done, exists, err := p.store.compare(r.Context(), key, index, &pb.RequestOp{
		Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: key}},
	})
	if err != nil {
		return err
	}
	// To Consul, a missing key counts as deleted, whatever the index.
	return writeJSON(w, done || !exists)
}

// readValue reads the body and returns it as it is stored.
func readValue(r *request, flags uint64) ([]byte, error) {
	tooLarge := answer{http.StatusRequestEntityTooLarge, fmt.Sprintf(saysTooLarge, maxValue)}
	if r.ContentLength > maxValue {
		return nil, tooLarge
	}
	if r.ContentLength >= 0 {
		stored, value := encodeValue(flags, int(r.ContentLength))
		if _, err := io.ReadFull(r.Body, value); err != nil {
			return nil, badRequest("read body: %v", err)
		}
		return stored, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxValue+1))
	switch {
	case err != nil:
		return nil, badRequest("read body: %v", err)
	case len(body) > maxValue:
		return nil, tooLarge
	}
	stored, value := encodeValue(flags, len(body))
	copy(value, body)
	return stored, nil
}

// number reads a parameter; an absent one is 0.
func (r *request) number(name string) (uint64, error) {
	if !r.has(name) {
		return 0, nil
	}
	n, err := strconv.ParseUint(r.params.Get(name), 10, 64)
	if err != nil {
		var parse *strconv.NumError
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return 0, badRequest("Invalid %s: %v", name, err)
	}
	return n, nil
}

// index reads the index a key must have. An index etcd cannot reach becomes one that no key has.
func (r *request) index() (int64, error) {
	n, err := r.number("cas")
	if err != nil {
		return 0, err
	}
	return revision(n), nil
}
