package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// tailBytes is the most Tail reads, however long the lines are.
const tailBytes = 64 << 10

// Tail returns the last lines of the file at path, at most the last 64 KiB, without the closing
// newline. It serves errors about a child that died.
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
	return string(lastLines(untilPanic(withoutFrames(data), lines), lines)), nil
}

// withoutFrames cuts a log before the stack frames of its last panic.
func withoutFrames(data []byte) []byte {
	at := panicAt(data)
	if at < 0 {
		return data
	}
	if i := bytes.Index(data[at:], []byte("\ngoroutine ")); i >= 0 {
		return data[:at+i+1]
	}
	return data
}

// panicAt returns where the last panic of a Go program begins in data, or -1.
func panicAt(data []byte) int {
	at := -1
	for _, word := range []string{"panic: ", "fatal error: "} {
		if bytes.HasPrefix(data, []byte(word)) {
			at = max(at, 0)
		}
		if i := bytes.LastIndex(data, []byte("\n"+word)); i >= 0 {
			at = max(at, i+1)
		}
	}
	return at
}

// beforePanic is the number of lines kept before a panic: the program's own words.
const beforePanic = 3

// untilPanic returns the part of a log that ends n lines after the panic of a Go program begins,
// less the lines kept before it. The cause is in its first lines, and stack frames follow. Logs
// without a panic are returned whole.
func untilPanic(data []byte, n int) []byte {
	at := panicAt(data)
	if at < 0 {
		return data
	}
	end := at
	for range max(n-beforePanic, 1) {
		i := bytes.IndexByte(data[end:], '\n')
		if i < 0 {
			return data
		}
		end += i + 1
	}
	return data[:end]
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
