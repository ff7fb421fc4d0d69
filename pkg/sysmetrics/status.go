package sysmetrics

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// status is what a sample needs of /proc/PID/status or of a thread's. Memory is
// in bytes, and 0 for a process that has ended.
type status struct {
	state                    string // such as "S (sleeping)"
	rss, anon, peak, virtual int64
	threads                  int64
	voluntary, nonvoluntary  int64 // context switches of the one thread
}

func (f *files) status(elem ...string) (status, error) {
	data, err := f.read(append(elem, "status")...)
	if err != nil {
		return status{}, err
	}
	s, err := parseStatus(data)
	if err != nil {
		return status{}, fmt.Errorf("%s: %w", f.path(append(elem, "status")...), err)
	}
	return s, nil
}

func parseStatus(data []byte) (status, error) {
	s := status{voluntary: -1, nonvoluntary: -1}
	var bad error
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		key, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		var err error
		value = bytes.TrimSpace(value)
		switch string(key) {
		case "State":
			s.state = string(value)
		case "VmRSS":
			s.rss, err = parseKB(value)
		case "RssAnon":
			s.anon, err = parseKB(value)
		case "VmHWM":
			s.peak, err = parseKB(value)
		case "VmSize":
			s.virtual, err = parseKB(value)
		case "Threads":
			s.threads, err = strconv.ParseInt(string(value), 10, 64)
		case "voluntary_ctxt_switches":
			s.voluntary, err = strconv.ParseInt(string(value), 10, 64)
		case "nonvoluntary_ctxt_switches":
			s.nonvoluntary, err = strconv.ParseInt(string(value), 10, 64)
		}
		if err != nil && bad == nil {
			bad = fmt.Errorf("%s: %w", key, err)
		}
	}
	if bad == nil && (s.voluntary < 0 || s.nonvoluntary < 0) {
		bad = errors.New("no context switches")
	}
	return s, bad
}

// parseKB reads such as "29820 kB" as bytes. The kernel's kB is 1024 bytes.
func parseKB(value []byte) (int64, error) {
	digits, ok := bytes.CutSuffix(value, []byte(" kB"))
	if !ok {
		return 0, fmt.Errorf("%q is not in kB", value)
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(digits)), 10, 64)
	return n * 1024, err
}
