package sysmetrics

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/metric"
)

// machine reads the sources that belong to no process: those of the machine, its network namespace
// and the control group.
type machine struct {
	files         *files
	device, iface string
	sources       []machineFile
	groups        []groupSource
	group         groupOf
	// named are the directories for the group to sample. If empty, the processes' own group is
	// sampled.
	named []string
}

// machineFile is read once per sample for all its sources.
type machineFile struct {
	name    string
	every   time.Duration
	read    time.Time // when it was last read, if not for each sample
	absent  bool      // this kernel does not have the file
	sources []machineSource
}

// machineSource is a source with its metric positions in a sample.
type machineSource struct {
	metric.Source
	index    []int
	readings []metric.Reading
	walk     *walk // for a source that is parsed line by line
}

func newMachineSource(s metric.Source) machineSource {
	m := machineSource{Source: s, readings: make([]metric.Reading, len(s.Metrics))}
	for _, declared := range s.Metrics {
		at, _ := metric.System().Index(declared.Name)
		m.index = append(m.index, at)
	}
	return m
}

// newMachine groups the sources by file, because reading a file costs more than parsing it.
func newMachine(f *files, device, iface string) *machine {
	m := &machine{files: f, device: device, iface: iface}
	for _, s := range metric.Sources() {
		switch {
		case s.File == "" || s.Scope() == metric.Process:
			continue
		case s.Scope() == metric.Group:
			m.groups = append(m.groups, groupSource{machineSource: newMachineSource(s)})
			continue
		}
		at := slices.IndexFunc(m.sources, func(file machineFile) bool { return file.name == s.File })
		if at < 0 {
			at = len(m.sources)
			m.sources = append(m.sources, machineFile{name: s.File, every: s.Every})
		}
		source := newMachineSource(s)
		if s.Line != nil {
			source.walk = walkOf(f.path(s.File))
		}
		m.sources[at].sources = append(m.sources[at].sources, source)
	}
	return m
}

// check reads every source once, or only opens it if it is long. It fails if the device or the
// interface is unknown. Optional files that this kernel lacks are not read again.
func (m *machine) check() error {
	values := metric.System().Values()
	for i := range m.sources {
		file := &m.sources[i]
		read := m.readFile
		if file.sources[0].Line != nil {
			read = m.openFile
		}
		err := read(file, values)
		scope := file.sources[0].Scope()
		switch {
		case err == nil:
		case file.sources[0].Optional() && unsupported(err):
			file.absent = true
		case scope == metric.Device || scope == metric.Interface:
			return err
		}
		file.read = time.Time{}
	}
	return nil
}

// unsupported reports whether an error means that the kernel lacks the file. If pressure stall
// information is turned off, the file exists but cannot be read.
func unsupported(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EOPNOTSUPP)
}

// sample sets the metrics from all sources that are due. pid is the process whose control group is
// sampled; 0 means no process.
func (m *machine) sample(now time.Time, pid int, values metric.Values) []error {
	var problems []error
	for i := range m.sources {
		file := &m.sources[i]
		if file.absent || file.every > 0 && !file.read.IsZero() && now.Sub(file.read) < file.every {
			continue
		}
		file.read = now
		if err := m.readFile(file, values); err != nil {
			problems = append(problems, err)
		}
	}
	return append(problems, m.sampleGroup(pid, values))
}

// openFile reports whether a file can be opened.
func (m *machine) openFile(file *machineFile, _ metric.Values) error {
	fd, err := openPath(m.files.path(file.name))
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// readFile sets the metrics from the sources in a file. If the data directory has no device, device
// metrics stay unknown.
func (m *machine) readFile(file *machineFile, values metric.Values) error {
	first := &file.sources[0]
	what, of := file.name, ""
	switch first.Scope() {
	case metric.Device:
		if what, of = "the disk", m.device; of == "" {
			return nil
		}
	case metric.Interface:
		what, of = "the network", m.iface
	}
	if first.Line != nil {
		if err := m.readLines(first, values); err != nil {
			return fmt.Errorf("sample %s: %w", what, err)
		}
		return nil
	}
	data, err := m.files.read(file.name)
	if err != nil {
		return fmt.Errorf("sample %s: %w", what, err)
	}
	var problems []error
	for i := range file.sources {
		s := &file.sources[i]
		if err := parse(&s.Source, data, of, s.readings); err != nil {
			problems = append(problems, fmt.Errorf("sample %s: %w", what, err))
		}
		s.store(values)
	}
	return errors.Join(problems...)
}

// readLines sets the metrics from a source that is parsed line by line.
func (m *machine) readLines(s *machineSource, values metric.Values) error {
	err := s.walk.take(s.readings, func(readings []metric.Reading) error {
		clear(readings)
		line := func(line []byte) error { return s.Line(line, readings) }
		err := m.files.lines(line, s.File)
		if s.Also != "" && err == nil {
			if err = m.files.lines(line, s.Also); unsupported(err) {
				err = nil
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	s.store(values)
	return nil
}

// store sets the metrics of the source to its readings.
func (s *machineSource) store(values metric.Values) {
	for i, at := range s.index {
		v := s.readings[i].Value
		if v >= 0 && s.Divisor > 0 {
			v /= s.Divisor
		}
		values.SetAt(at, v)
	}
}
