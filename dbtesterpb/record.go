package dbtesterpb

import (
	"encoding/json"
	"fmt"
)

// maxRecord is the largest record that is read from a message, in bytes.
const maxRecord = 256 << 10

// Record encodes a record of a run for a message, as JSON: what the record has, the wire has.
func Record(name string, record any) ([]byte, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return data, nil
}

// ReadRecord decodes a record that a message carries, nil if it carries none.
func ReadRecord[T any](name string, data []byte) (*T, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if len(data) > maxRecord {
		return nil, fmt.Errorf("decode %s: it must be at most %d bytes, got %d", name, maxRecord, len(data))
	}
	record := new(T)
	if err := json.Unmarshal(data, record); err != nil {
		return nil, fmt.Errorf("decode %s: %w", name, err)
	}
	return record, nil
}
