package selfcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/coreos/dbtester/pkg/files/regularfile"
)

// Write writes the report as JSON for [Read].
func (r *Report) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write the self-check: %w", err)
	}
	return nil
}

// maxReport is the largest report read, in bytes.
const maxReport = 16 << 20

// Read reads a report from a file. A report must have a date, a host, rates and
// waits. Errors name the file.
func Read(path string) (*Report, error) {
	data, err := regularfile.Read(path, maxReport)
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
		return errors.New("the file is empty: the check is running, or failed")
	}
	if err := json.Unmarshal(data, r); err != nil {
		return fmt.Errorf("not a report of dbtester selfcheck: %w", err)
	}
	switch {
	case r.Date.IsZero():
		return errors.New("not a report of dbtester selfcheck: the date is missing")
	case r.Host.Name == "" && r.Host.BootID == "":
		return errors.New("not a report of dbtester selfcheck: the host is missing")
	case len(r.Paces) == 0 || r.TimerLateness.N == 0 || r.ClientLateness.N == 0:
		return errors.New("not a report of dbtester selfcheck: rates or waits are missing")
	}
	return nil
}
