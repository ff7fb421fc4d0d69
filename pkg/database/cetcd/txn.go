package cetcd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// txnOp is one operation of a transaction. The verbs set and cas are supported.
type txnOp struct {
	KV *struct {
		Verb  string
		Key   string
		Value []byte
		Flags uint64
		Index uint64
	}
}

// txnResult is the result of one operation. As in Consul, it lacks the value. It also lacks the
// index at which an old key was created, because etcd would have to read the key.
type txnResult struct{ KV pair }

// txnError is the reason that one operation gives for a transaction that was not made.
type txnError struct {
	OpIndex int
	What    string
}

// txnAnswer is the answer to a transaction: results with 200, errors with 409.
type txnAnswer struct {
	Results []txnResult
	Errors  []txnError
}

// txn makes all operations or no operation, in one etcd transaction.
func (p *proxy) txn(w http.ResponseWriter, r *request) error {
	ops, err := readTxn(r)
	if err != nil {
		return err
	}
	for i, op := range ops {
		if op.KV.Key == "" {
			return writeTxn(w, txnAnswer{Errors: []txnError{{i, "Must provide key"}}})
		}
	}
	etcdTxn := &pb.TxnRequest{}
	for i, op := range ops {
		stored, room := encodeValue(op.KV.Flags, len(op.KV.Value))
		copy(room, op.KV.Value)
		key := []byte(op.KV.Key)
		put := &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: stored}}}
		read := &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key, KeysOnly: true}}}
		etcdTxn.Success = append(etcdTxn.Success, put)
		etcdTxn.Failure = append(etcdTxn.Failure, read)
		switch op.KV.Verb {
		case "set":
		case "cas":
			etcdTxn.Compare = append(etcdTxn.Compare, &pb.Compare{
				Key: key, Target: pb.Compare_MOD, Result: pb.Compare_EQUAL,
				TargetUnion: &pb.Compare_ModRevision{ModRevision: revision(op.KV.Index)},
			})
		default:
			return badRequest("operation %d: the verb %q is not supported (set and cas are)", i, op.KV.Verb)
		}
	}
	resp, err := p.store.txn(r.Context(), etcdTxn)
	if err != nil {
		return err
	}
	return writeTxn(w, txnOutcome(ops, resp))
}

// writeTxn answers with 409 if there are errors.
func writeTxn(w http.ResponseWriter, a txnAnswer) error {
	if len(a.Errors) > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
	}
	return writeJSON(w, a)
}

// readTxn reads the operations of a transaction.
func readTxn(r *request) ([]txnOp, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxTxnBody+1))
	switch {
	case err != nil:
		return nil, badRequest("read body: %v", err)
	case len(body) > maxTxnBody:
		// A client that is still sending would find the connection reset and not the answer.
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 16*maxTxnBody))
		return nil, answer{http.StatusRequestEntityTooLarge, fmt.Sprintf(saysTooLarge, maxTxnBody)}
	}
	var ops []txnOp
	if err := json.Unmarshal(body, &ops); err != nil {
		return nil, badRequest("Failed to parse body: %v", err)
	}
	if len(ops) > maxTxnOps {
		return nil, answer{http.StatusRequestEntityTooLarge, fmt.Sprintf("Transaction contains too many operations (%d > %d)", len(ops), maxTxnOps)}
	}
	for i, op := range ops {
		if op.KV == nil {
			return nil, badRequest("operation %d: only operations on keys are supported", i)
		}
	}
	return ops, nil
}

// txnOutcome returns the answer to operations etcd made, or refused because of an index.
func txnOutcome(ops []txnOp, resp *pb.TxnResponse) (a txnAnswer) {
	for i, op := range ops {
		if resp.Succeeded {
			made := pair{Key: op.KV.Key, Flags: op.KV.Flags, ModifyIndex: resp.Header.Revision}
			if op.KV.Verb == "cas" && op.KV.Index == 0 {
				made.CreateIndex = made.ModifyIndex
			}
			a.Results = append(a.Results, txnResult{made})
			continue
		}
		var index int64
		if held := resp.Responses[i].GetResponseRange(); len(held.Kvs) > 0 {
			index = held.Kvs[0].ModRevision
		}
		if op.KV.Verb == "cas" && index != revision(op.KV.Index) {
			a.Errors = append(a.Errors, txnError{i, fmt.Sprintf("failed to set key %q, index is stale", op.KV.Key)})
		}
	}
	return a
}
