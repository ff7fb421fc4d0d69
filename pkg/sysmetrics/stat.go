package sysmetrics

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// ticksPerSecond is USER_HZ, in which the kernel shows CPU times on every
// architecture that Go runs on, whatever its own timer does.
const ticksPerSecond = 100

// stat is what a sample needs of /proc/PID/stat. Times are in ticks.
type stat struct {
	name  string
	ppid  int
	start uint64 // since boot
	// own is the user and system time of all threads, ended ones too; waited is
	// that of the children that were waited for, and of theirs.
	own, waited int64
}

func (f *files) stat(pid int) (stat, error) {
	data, err := f.read(strconv.Itoa(pid), "stat")
	if err != nil {
		return stat{}, err
	}
	s, err := parseStat(data)
	if err != nil {
		return stat{}, fmt.Errorf("stat of pid %d: %w", pid, err)
	}
	return s, nil
}

// parseStat reads a stat line. The program's name, in parentheses, may itself
// hold spaces and parentheses.
func parseStat(data []byte) (stat, error) {
	begin, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if begin < 0 || end < begin {
		return stat{}, errors.New("no program name")
	}
	fields := bytes.Fields(data[end+1:]) // from field 3 on
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("only %d fields", len(fields)+2)
	}
	var bad error
	number := func(field int) int64 {
		n, err := strconv.ParseInt(string(fields[field-3]), 10, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf("field %d: %w", field, err)
		}
		return n
	}
	s := stat{
		name:   string(data[begin+1 : end]),
		ppid:   int(number(4)),
		own:    number(14) + number(15),
		waited: number(16) + number(17),
		start:  uint64(number(22)),
	}
	return s, bad
}
