package consistency

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/files/linefile"
)

// FileWitness, in a tag folder, holds the witnesses in a run, one per line. A run without witnesses
// has no such file.
const FileWitness = "witness.jsonl"

// WriteWitnesses writes a witness file, unless there are no witnesses.
func WriteWitnesses(path string, witnesses []consistency.Witness) (err error) {
	if len(witnesses) == 0 {
		return nil
	}
	file, err := linefile.Open(path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var lines []byte
	for n := range witnesses {
		line, err := json.Marshal(&witnesses[n])
		if err != nil {
			return fmt.Errorf("encode a witness: %w", err)
		}
		lines = append(append(lines, line...), '\n')
	}
	return file.Append(lines)
}

// ReadWitnesses reads a witness file, which need not exist. The witnesses before an error are
// valid.
func ReadWitnesses(path string) (witnesses []consistency.Witness, err error) {
	for line, err := range linefile.Lines(path) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return witnesses, err
		}
		var w consistency.Witness
		if err := json.Unmarshal([]byte(line.Text), &w); err != nil {
			return witnesses, fmt.Errorf("%s: line %d: %w", path, line.Number, err)
		}
		witnesses = append(witnesses, w)
	}
	return witnesses, nil
}
