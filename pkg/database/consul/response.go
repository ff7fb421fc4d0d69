package consul

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/coreos/dbtester/pkg/wire/exchange"
)

// errMalformed is wrapped by every error about an answer that cannot be parsed.
var errMalformed = errors.New("malformed HTTP answer")

// responseHead is the status line of an answer and the headers that frame its body.
type responseHead struct {
	status  int
	length  int64 // of the body in bytes; -1 if it ends with the connection
	chunked bool  // the body comes in chunks, and length is not used
	last    bool  // the connection cannot be reused
}

// maxHead bounds the head of an answer, and a line within its body, in bytes.
const maxHead = 64 << 10

// parseHead parses the head of an answer, without the empty line at its end.
func parseHead(head []byte) (responseHead, error) {
	line, rest, err := cutLine(head)
	if err != nil {
		return responseHead{}, err
	}
	a, err := parseStatus(line)
	if err != nil {
		return a, err
	}
	old := a.last // HTTP/1.0, which has no chunks
	a.length = -1
	for len(rest) > 0 {
		if line, rest, err = cutLine(rest); err != nil {
			return a, err
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || bytes.IndexByte(line[:colon], ' ') >= 0 || bytes.IndexByte(line[:colon], '\t') >= 0 {
			return a, fmt.Errorf("%w: a header line of %d bytes has no name", errMalformed, len(line))
		}
		if err := a.field(line[:colon], line[colon+1:]); err != nil {
			return a, err
		}
	}
	if a.chunked && old {
		return a, fmt.Errorf("%w: chunks in HTTP/1.0", errMalformed)
	}
	if a.chunked && a.length >= 0 {
		a.last = true // the two framings contradict each other
	}
	if a.status < 200 || a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		a.length, a.chunked = 0, false
	}
	if a.length < 0 && !a.chunked {
		a.last = true
	}
	return a, nil
}

// cutLine returns the first line of a head, without its end, and the lines after it. The last line
// has no end.
func cutLine(head []byte) (line, rest []byte, err error) {
	end := bytes.IndexByte(head, '\n')
	switch {
	case end < 0:
		return head, nil, nil
	case end == 0 || head[end-1] != '\r':
		return nil, nil, fmt.Errorf("%w: a line ends without a carriage return", errMalformed)
	}
	return head[:end-1], head[end+1:], nil
}

// parseStatus parses the status line.
func parseStatus(line []byte) (responseHead, error) {
	const version, status = len("HTTP/1."), len("HTTP/1.1 ")
	if len(line) < status+3 || string(line[:version]) != "HTTP/1." || line[version] < '0' || line[version] > '9' || line[status-1] != ' ' ||
		len(line) > status+3 && line[status+3] != ' ' {
		return responseHead{}, fmt.Errorf("%w: the first line, of %d bytes, is no status line", errMalformed, len(line))
	}
	n, ok := digits(line[status : status+3])
	if !ok || n < 100 {
		return responseHead{}, fmt.Errorf("%w: the status is not a number from 100 to 999", errMalformed)
	}
	return responseHead{status: int(n), last: line[version] == '0'}, nil
}

// field applies one header. Only headers that frame the body matter.
func (a *responseHead) field(name, value []byte) error {
	switch {
	case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		n, ok := digits(bytes.Trim(value, " \t"))
		if !ok || a.length >= 0 && a.length != n {
			return fmt.Errorf("%w: Content-Length must be one number", errMalformed)
		}
		a.length = n
	case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		if a.chunked || !bytes.EqualFold(bytes.Trim(value, " \t"), []byte("chunked")) {
			return fmt.Errorf("%w: Transfer-Encoding must be chunked", errMalformed)
		}
		a.chunked = true
	case len(name) == len("Connection") && bytes.EqualFold(name, []byte("Connection")):
		for option := range bytes.SplitSeq(value, []byte(",")) {
			a.last = a.last || bytes.EqualFold(bytes.Trim(option, " \t"), []byte("close"))
		}
	}
	return nil
}

// digits parses a number of 1 to 18 digits.
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

// input reads answers from a connection.
type input struct{ *exchange.Input }

// until returns the bytes before end, and takes both.
func (in input) until(end string) ([]byte, error) {
	for seen := 0; ; {
		have := in.Bytes()
		i := bytes.Index(have[seen:], []byte(end))
		if i >= 0 && seen+i <= maxHead {
			in.Take(seen + i + len(end))
			return have[:seen+i], nil
		}
		if i >= 0 || len(have) > maxHead {
			return nil, fmt.Errorf("%w: the head has more than %d bytes", errMalformed, maxHead)
		}
		seen = max(0, len(have)-len(end)+1)
		if err := in.Fill(); err != nil {
			return nil, exchange.Unexpected(err)
		}
	}
}

// interim reads the next head, of a final or an interim answer.
func (in input) interim() (responseHead, error) {
	const start = "HTTP/"
	for len(in.Bytes()) < len(start) {
		if err := in.Fill(); err != nil {
			return responseHead{}, exchange.Unexpected(err)
		}
	}
	if string(in.Bytes()[:len(start)]) != start {
		return responseHead{}, fmt.Errorf("%w: it must begin with %s", errMalformed, start)
	}
	head, err := in.until("\r\n\r\n")
	if err != nil {
		return responseHead{}, err
	}
	return parseHead(head)
}

// head reads the head of the final answer, after at most 10 interim ones.
func (in input) head() (responseHead, error) {
	const most = 10
	for range most {
		a, err := in.interim()
		if err != nil || a.status >= 200 {
			return a, err
		}
		if a.status == http.StatusSwitchingProtocols {
			break
		}
	}
	return responseHead{}, fmt.Errorf("%w: no final answer after 10 interim ones", errMalformed)
}

// body appends the body of an answer to out. It fails if the body has more than most bytes.
func (in input) body(a responseHead, out []byte, most int64) ([]byte, error) {
	switch {
	case a.chunked:
		return in.chunks(out, most)
	case a.length > most:
		return out, tooLong(most)
	case a.length >= 0:
		return in.Append(out, a.length)
	}
	for end := int64(len(out)) + most; ; {
		out = append(out, in.Bytes()...)
		in.Take(len(in.Bytes()))
		if int64(len(out)) > end {
			return out, tooLong(most)
		}
		if err := in.Fill(); err == io.EOF {
			return out, nil
		} else if err != nil {
			return out, err
		}
	}
}

func tooLong(most int64) error {
	return fmt.Errorf("%w: the body has more than %d bytes, the most for the largest value", errMalformed, most)
}

// chunks appends the chunks of a body to out, and takes the trailer.
func (in input) chunks(out []byte, most int64) ([]byte, error) {
	for left := most; ; {
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
		if left -= int64(n); left < 0 {
			return out, tooLong(most)
		}
		if out, err = in.Append(out, int64(n)); err != nil {
			return out, err
		}
		if end, err := in.until("\r\n"); err != nil || len(end) > 0 {
			return out, errors.Join(err, fmt.Errorf("%w: a chunk is longer than its size", errMalformed))
		}
	}
}

// trailer takes the lines after the last chunk.
func (in input) trailer() error {
	for size := 0; size <= maxHead; {
		line, err := in.until("\r\n")
		if err != nil || len(line) == 0 {
			return err
		}
		size += len(line)
	}
	return fmt.Errorf("%w: the trailer has more than %d bytes", errMalformed, maxHead)
}
