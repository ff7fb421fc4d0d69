package sysmetrics

import (
	"bytes"
	"fmt"
	"strconv"
)

// loadavg returns the mean length of the run queue over 1, 5 and 15 minutes.
func (f *files) loadavg() ([3]float64, error) {
	data, err := f.read("loadavg")
	if err != nil {
		return [3]float64{}, err
	}
	return parseLoadavg(data)
}

func parseLoadavg(data []byte) ([3]float64, error) {
	var load [3]float64
	fields := bytes.Fields(data)
	if len(fields) < len(load) {
		return load, fmt.Errorf("loadavg %q is too short", data)
	}
	for i := range load {
		var err error
		if load[i], err = strconv.ParseFloat(string(fields[i]), 64); err != nil {
			return load, fmt.Errorf("loadavg: %w", err)
		}
	}
	return load, nil
}
