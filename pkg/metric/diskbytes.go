package metric

import "fmt"

// Metrics from /proc/PID/io.
const (
	ReadBytes  Name = "read_bytes"
	WriteBytes Name = "write_bytes"
)

// diskBytes reads /proc/PID/io. The kernel adds a child's bytes to its parent's when the parent
// waits for it. Only the same user and root may read the file.
func diskBytes() Source {
	return Source{
		File: "io", Inclusive: true,
		Metrics: []Metric{
			{Name: ReadBytes, Column: "PROCESS-READ-BYTES", Unit: "bytes", Kind: Counter, Scope: Process, Help: "bytes that the processes caused to be read from block devices"},
			{Name: WriteBytes, Column: "PROCESS-WRITE-BYTES", Unit: "bytes", Kind: Counter, Scope: Process, Help: "bytes that the processes handed to the page cache for block devices; they may not be on the device yet"},
		},
		Parse: parseDiskBytes,
	}
}

func parseDiskBytes(data []byte, _ string, into []Reading) error {
	for key, value := range Fields(data) {
		var err error
		switch string(key) {
		case "read_bytes":
			into[0].Value, err = parseCount(value)
		case "write_bytes":
			into[1].Value, err = parseCount(value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if into[0].Value < 0 || into[1].Value < 0 {
		return fmt.Errorf("no read_bytes or write_bytes in %q", data)
	}
	return nil
}
