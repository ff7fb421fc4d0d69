package consul

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/coreos/dbtester/pkg/database/exchange"
)

// errMalformed is the cause of every error about what a server sent.
var errMalformed = errors.New("malformed HTTP answer")

// answer is what the head of an answer says.
type answer struct {
	status  int
	length  int64 // of the body; -1 if it ends where the connection does
	chunked bool  // the body comes in chunks; length says nothing
	last    bool  // the connection carries no more after it
}

// maxHead bounds the head of an answer in bytes, and a line within a body.
const maxHead = 64 << 10

// parseHead reads the head of an answer, without the empty line at its end but
// with the end of the line before.
func parseHead(head []byte) (answer, error) {
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	a, err := parseStatus(line)
	if err != nil {
		return a, err
	}
	if bytes.Count(head, []byte("\n")) != bytes.Count(head, []byte("\r\n")) {
		return a, fmt.Errorf("%w: a line ends without a carriage return", errMalformed)
	}
	old := a.last // HTTP/1.0, which knows no chunks
	a.length = -1
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || len(name) == 0 || bytes.ContainsAny(name, " \t") {
			return a, fmt.Errorf("%w: a line of %d bytes is no header", errMalformed, len(line))
		}
		if err := a.field(name, value); err != nil {
			return a, err
		}
	}
	if a.chunked && old {
		return a, fmt.Errorf("%w: chunks of HTTP/1.0", errMalformed)
	}
	if a.chunked && a.length >= 0 {
		a.last = true // an answer that is not sure of its end
	}
	if a.status < 200 || a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		a.length, a.chunked = 0, false
	}
	if a.length < 0 && !a.chunked {
		a.last = true
	}
	return a, nil
}

// parseStatus reads the first line of an answer.
func parseStatus(line []byte) (answer, error) {
	const version, status = len("HTTP/1."), len("HTTP/1.1 ")
	if len(line) < status+3 || string(line[:version]) != "HTTP/1." || line[version] < '0' || line[version] > '9' || line[status-1] != ' ' ||
		len(line) > status+3 && line[status+3] != ' ' {
		return answer{}, fmt.Errorf("%w: a first line of %d bytes is no status", errMalformed, len(line))
	}
	n, ok := digits(line[status : status+3])
	if !ok || n < 100 {
		return answer{}, fmt.Errorf("%w: no status", errMalformed)
	}
	return answer{status: int(n), last: line[version] == '0'}, nil
}

// field takes in one header; most say nothing about the answer's end.
func (a *answer) field(name, value []byte) error {
	switch {
	case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		n, ok := digits(bytes.Trim(value, " \t"))
		if !ok || a.length >= 0 && a.length != n {
			return fmt.Errorf("%w: no length, or two", errMalformed)
		}
		a.length = n
	case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		if a.chunked || !bytes.EqualFold(bytes.Trim(value, " \t"), []byte("chunked")) {
			return fmt.Errorf("%w: a coding other than chunked", errMalformed)
		}
		a.chunked = true
	case len(name) == len("Connection") && bytes.EqualFold(name, []byte("Connection")):
		for option := range bytes.SplitSeq(value, []byte(",")) {
			a.last = a.last || bytes.EqualFold(bytes.Trim(option, " \t"), []byte("close"))
		}
	}
	return nil
}

// digits reads a number that is nothing but up to 18 digits.
func digits(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// input reads answers from what came over a connection.
type input struct{ *exchange.Input }

// until returns what comes before an end, and takes both.
func (in input) until(end string) ([]byte, error) {
	for seen := 0; ; {
		have := in.Bytes()
		i := bytes.Index(have[seen:], []byte(end))
		if i >= 0 && seen+i <= maxHead {
			in.Take(seen + i + len(end))
			return have[:seen+i], nil
		}
		if i >= 0 || len(have) > maxHead {
			return nil, fmt.Errorf("%w: more than %d bytes of head", errMalformed, maxHead)
		}
		seen = max(0, len(have)-len(end)+1)
		if err := in.Fill(); err != nil {
			return nil, exchange.Unexpected(err)
		}
	}
}

// interim reads the next head, of an answer or of word of one.
func (in input) interim() (answer, error) {
	const start = "HTTP/"
	for len(in.Bytes()) < len(start) {
		if err := in.Fill(); err != nil {
			return answer{}, exchange.Unexpected(err)
		}
	}
	if string(in.Bytes()[:len(start)]) != start {
		return answer{}, fmt.Errorf("%w: it does not begin with %s", errMalformed, start)
	}
	head, err := in.until("\r\n\r\n")
	if err != nil {
		return answer{}, err
	}
	return parseHead(head)
}

// head reads the head of an answer, over all word of it.
func (in input) head() (answer, error) {
	const words = 10 // as many as anyone sends
	for range words {
		a, err := in.interim()
		if err != nil || a.status >= 200 {
			return a, err
		}
		if a.status == http.StatusSwitchingProtocols {
			break
		}
	}
	return answer{}, fmt.Errorf("%w: no answer after interim ones", errMalformed)
}

// body appends the body of an answer to out.
func (in input) body(a answer, out []byte) ([]byte, error) {
	switch {
	case a.chunked:
		return in.chunks(out)
	case a.length >= 0:
		return in.Append(out, a.length)
	}
	for {
		out = append(out, in.Bytes()...)
		in.Take(len(in.Bytes()))
		if err := in.Fill(); err == io.EOF {
			return out, nil
		} else if err != nil {
			return out, err
		}
	}
}

// chunks appends the chunks of a body to out, and takes the trailer.
func (in input) chunks(out []byte) ([]byte, error) {
	for {
		line, err := in.until("\r\n")
		if err != nil {
			return out, err
		}
		text, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimRight(text, " \t")), 16, 62)
		if err != nil {
			return out, fmt.Errorf("%w: a chunk without a size", errMalformed)
		}
		if n == 0 {
			return out, in.trailer()
		}
		if out, err = in.Append(out, int64(n)); err != nil {
			return out, err
		}
		if end, err := in.until("\r\n"); err != nil || len(end) > 0 {
			return out, errors.Join(err, fmt.Errorf("%w: a chunk is longer than it says", errMalformed))
		}
	}
}

// trailer takes what follows the last chunk.
func (in input) trailer() error {
	for size := 0; size <= maxHead; {
		line, err := in.until("\r\n")
		if err != nil || len(line) == 0 {
			return err
		}
		size += len(line)
	}
	return fmt.Errorf("%w: more than %d bytes of trailer", errMalformed, maxHead)
}
