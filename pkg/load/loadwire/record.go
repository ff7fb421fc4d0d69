package loadwire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encode returns a record as JSON.
func encode[T any](record *T) ([]byte, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encode a record %T: %w", *record, err)
	}
	return data, nil
}

// decode inverts encode. An unknown field is an error: both sides run one version.
func decode[T any](data []byte, record *T) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(record); err != nil {
		return fmt.Errorf("decode a record %T: %w", *record, err)
	}
	return nil
}

// encodeRows appends each row as JSON.
func encodeRows[T any](to *[][]byte, rows []T) error {
	for i := range rows {
		data, err := encode(&rows[i])
		if err != nil {
			return err
		}
		*to = append(*to, data)
	}
	return nil
}

// decodeRows appends a row for each JSON, after set.
func decodeRows[T any](to *[]T, rows [][]byte, set func(*T)) error {
	for _, data := range rows {
		var row T
		if err := decode(data, &row); err != nil {
			return err
		}
		set(&row)
		*to = append(*to, row)
	}
	return nil
}
