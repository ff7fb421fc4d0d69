package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// StartTicks returns when process pid started, in clock ticks since boot (field 22 of
// /proc/PID/stat). The error wraps fs.ErrNotExist if there is no such process.
func StartTicks(pid int) (uint64, error) {
	_, ticks, err := readStat(pid)
	return ticks, err
}

// Alive reports whether the process with this pid and these start ticks is running. A zombie is
// not.
func Alive(pid int, startTicks uint64) bool {
	state, ticks, err := readStat(pid)
	return err == nil && ticks == startTicks && state != 'Z' && state != 'X'
}

// Stopped reports whether the process that had this pid and these start ticks is stopped, such
// as by SIGSTOP.
func Stopped(pid int, startTicks uint64) bool {
	state, ticks, err := readStat(pid)
	return err == nil && ticks == startTicks && state == 'T'
}

func readStat(pid int) (state byte, ticks uint64, err error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("read the state of pid %d: %w", pid, err)
	}
	state, ticks, err = parseStat(data)
	if err != nil {
		return 0, 0, fmt.Errorf("read the state of pid %d: %w", pid, err)
	}
	return state, ticks, nil
}

// parseStat extracts the state and the start time from a stat line. The program's name, in
// parentheses, may itself contain spaces and parentheses.
func parseStat(data []byte) (state byte, ticks uint64, err error) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return 0, 0, errors.New("no program name in stat line")
	}
	fields := bytes.Fields(data[end+1:]) // from field 3 on
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("only %d fields in stat line", len(fields)+2)
	}
	ticks, err = strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("start time in stat line: %w", err)
	}
	return fields[0][0], ticks, nil
}
