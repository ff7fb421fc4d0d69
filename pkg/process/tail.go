package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// tailBytes bounds what Tail reads, however long the lines are.
const tailBytes = 64 << 10

// Tail returns the last lines of a file, at most the last 64 KiB, without the
// closing newline. It serves errors about a child that died.
func Tail(path string, lines int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the end of a log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the end of a log: %w", err)
	}
	from := max(0, info.Size()-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return "", fmt.Errorf("read the end of a log: %w", err)
	}
	return string(lastLines(data, lines)), nil
}

// lastLines returns the last n lines of data, without the closing newline.
func lastLines(data []byte, n int) []byte {
	if n <= 0 {
		return nil
	}
	data = bytes.TrimRight(data, "\n")
	at := len(data)
	for range n {
		if at = bytes.LastIndexByte(data[:at], '\n'); at < 0 {
			return data
		}
	}
	return data[at+1:]
}
