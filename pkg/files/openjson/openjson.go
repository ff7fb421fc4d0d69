// Package openjson encodes structs as JSON objects with additional keys the struct does not
// declare.
package openjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Marshal encodes the keys in a struct followed by the other keys in alphabetical order. The
// struct's own MarshalJSON must not call it, or it would recurse.
func Marshal(v any, others map[string]json.RawMessage) ([]byte, error) {
	data, err := Encode(v)
	if err != nil || len(others) == 0 {
		return data, err
	}
	out := bytes.NewBuffer(bytes.TrimSuffix(data, []byte("}")))
	for _, key := range slices.Sorted(maps.Keys(others)) {
		name, err := json.Marshal(key)
		if err != nil {
			return nil, fmt.Errorf("encode key: %w", err)
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(others[key])
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Encode encodes a value as JSON on one line. The characters <, > and & stand for themselves;
// an encoder around the value decides whether they are escaped.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Unmarshal decodes an object into the struct that v points to, and returns the keys the struct
// does not declare, or nil.
func Unmarshal(data []byte, v any) (others map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &others); err != nil {
		return nil, err
	}
	declared := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		declared[strings.ToLower(name)] = true // matched like in encoding/json
	}
	maps.DeleteFunc(others, func(key string, _ json.RawMessage) bool { return declared[strings.ToLower(key)] })
	if len(others) == 0 {
		return nil, nil
	}
	for key, is := range others {
		var plain bytes.Buffer
		if err := json.Compact(&plain, is); err != nil {
			return nil, err
		}
		others[key] = plain.Bytes()
	}
	return others, nil
}
