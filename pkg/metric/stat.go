package metric

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Stat is a line from /proc/PID/stat, whose fields are numbered from 1 as in proc_pid_stat(5).
type Stat struct {
	// Program is field 2 without its parentheses.
	Program string
	rest    []byte // from field 3 on
	err     error
}

// statFields is the minimum number of fields, as written by the oldest supported kernels.
const statFields = 22

// StatFields splits a stat line. The program's name, in parentheses, may itself contain spaces and
// parentheses.
func StatFields(data []byte) (Stat, error) {
	begin, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if begin < 0 || end < begin {
		return Stat{}, errors.New("no program name")
	}
	n := 2
	for range bytes.FieldsSeq(data[end+1:]) {
		n++
	}
	if n < statFields {
		return Stat{}, fmt.Errorf("only %d fields", n)
	}
	return Stat{Program: string(data[begin+1 : end]), rest: data[end+1:]}, nil
}

// Int returns a field from 3 to 22. If it is not a number, Int returns 0 and [Stat.Err] returns the
// error.
func (s *Stat) Int(field int) int64 {
	at := 2
	for text := range bytes.FieldsSeq(s.rest) {
		if at++; at < field {
			continue
		}
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil && s.err == nil {
			s.err = fmt.Errorf("field %d: %w", field, err)
		}
		return n
	}
	return 0
}

// Number returns [Stat.Int] as a metric value.
func (s *Stat) Number(field int) float64 { return float64(s.Int(field)) }

// Err returns the error for the first field that is not a number.
func (s *Stat) Err() error { return s.err }
