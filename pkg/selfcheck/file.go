package selfcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Write writes the report as JSON, as [Read] reads it.
func (r *Report) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write the self-check: %w", err)
	}
	return nil
}

// Read reads a report from a file. One that does not say when, where or what was
// found is an error that names the file.
func Read(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the self-check: %w", err)
	}
	var r Report
	if err := decode(data, &r); err != nil {
		return nil, fmt.Errorf("read the self-check %s: %w", path, err)
	}
	return &r, nil
}

func decode(data []byte, r *Report) error {
	if len(data) == 0 {
		return errors.New("the file is empty: the check did not end, or failed")
	}
	if err := json.Unmarshal(data, r); err != nil {
		return fmt.Errorf("not a report of dbtester selfcheck: %w", err)
	}
	switch {
	case r.Date.IsZero():
		return errors.New("not a report of dbtester selfcheck: it has no date")
	case r.Host.Name == "" && r.Host.BootID == "":
		return errors.New("not a report of dbtester selfcheck: it names no host")
	case len(r.Paces) == 0 || r.TimerLateness.N == 0 || r.ClientLateness.N == 0:
		return errors.New("not a report of dbtester selfcheck: it says nothing of rates or waits")
	}
	return nil
}
