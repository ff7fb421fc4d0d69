package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

// figures are measured in the measured seconds.
type figures struct {
	cpu            float64 // processor time for the control process, which has the agents too, in percent of a core
	late50, late99 float64 // percentiles of the request delay in the client itself, in seconds
	response       float64 // mean response time of the ok requests, in seconds
}

// run makes a run at this rate with some viewers, and fails if one of them missed most of it.
func run(ctx context.Context, program, dir string, rate, pages int) (figures, error) {
	text := fmt.Sprintf(text, rate)
	if pages == 0 {
		path, err := experiment.Run(ctx, program, dir, text, "manifest.json")
		if err != nil {
			return figures{}, err
		}
		return read(filepath.Dir(path))
	}
	address, err := free()
	if err != nil {
		return figures{}, err
	}
	looking, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	seen := make([]int, pages)
	for i := range pages {
		group.Go(func() { seen[i] = look(looking, "http://"+address+"/events") })
	}
	path, err := experiment.Run(ctx, program, dir, text, "manifest.json", "--live", address)
	stop()
	group.Wait()
	if err != nil {
		return figures{}, err
	}
	f, err := read(filepath.Dir(path))
	for i, n := range seen {
		if n < 10 {
			err = errors.Join(err, fmt.Errorf("viewer %d saw %d seconds of the run, want at least 10", i+1, n))
		}
	}
	return f, err
}

// free returns an address without a listener.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// look reads an event stream from when url is served until it ends, and counts the run seconds in
// it.
func look(ctx context.Context, url string) (seconds int) {
	for ctx.Err() == nil && seconds == 0 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			time.Sleep(50 * time.Millisecond) // it is not served yet
			continue
		}
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			if lines.Text() == "event: second" {
				seconds++
			}
		}
		answer.Body.Close()
	}
	return seconds
}

// read reads the figures from a run folder.
func read(dir string) (f figures, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return f, err
	}
	var manifest struct {
		Databases []struct {
			Tag      string
			Lateness *struct {
				P50 int64 `json:"p50_ns"`
				P99 int64 `json:"p99_ns"`
			}
		}
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return f, err
	}
	if len(manifest.Databases) != 1 || manifest.Databases[0].Lateness == nil {
		return f, errors.New("the manifest must have one database with its lateness")
	}
	of := manifest.Databases[0]
	f.late50, f.late99 = float64(of.Lateness.P50)/1e9, float64(of.Lateness.P99)/1e9
	folder := filepath.Join(dir, of.Tag)
	from, to, err := f.ofSeconds(filepath.Join(folder, "intervals.csv"))
	if err != nil {
		return f, err
	}
	f.cpu, err = processors(filepath.Join(folder, "client-system-metrics.csv"), from, to)
	return f, err
}

// ofSeconds sets the mean response time, and returns the first and the last measured second.
func (f *figures) ofSeconds(path string) (from, to float64, err error) {
	seconds, err := experiment.Table(path)
	if err != nil {
		return 0, 0, err
	}
	var n experiment.Numbers
	var count, sum float64
	for _, s := range seconds {
		if s["phase"] != "measure" {
			continue
		}
		if to = n.Of(s, "second"); count == 0 {
			from = to
		}
		count, sum = count+n.Of(s, "response_ok_count"), sum+n.Of(s, "response_ok_sum_ns")
	}
	if n.Err != nil {
		return 0, 0, n.Err
	}
	if count == 0 {
		return 0, 0, errors.New("no request was ok")
	}
	f.response = sum / count / 1e9
	return from, to, nil
}

// processors returns the processor time between the first and the last sample in some seconds, in
// percent of a core.
func processors(path string, from, to float64) (float64, error) {
	samples, err := experiment.Table(path)
	if err != nil {
		return 0, err
	}
	var n experiment.Numbers
	var at, used []float64
	for _, s := range samples {
		if t := n.Of(s, "UNIX-NANOSECOND") / 1e9; t >= from && t <= to {
			at, used = append(at, t), append(used, n.Of(s, "CPU-SECONDS"))
		}
	}
	if n.Err != nil {
		return 0, n.Err
	}
	last := len(at) - 1
	if last < 1 || at[last] == at[0] {
		return 0, errors.New("the measured seconds must have two samples")
	}
	return 100 * (used[last] - used[0]) / (at[last] - at[0]), nil
}
