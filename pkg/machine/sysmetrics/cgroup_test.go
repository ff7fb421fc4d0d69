package sysmetrics

import (
	"strings"
	"testing"
)

func TestCPUQuota(t *testing.T) {
	const (
		v2     = "2 1 0:1 / ROOT/unified rw - cgroup2 cgroup2 rw\n"
		v1     = "3 1 0:2 / ROOT/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		memory = "4 1 0:3 / ROOT/memory rw - cgroup cgroup rw,memory\n"
	)
	for name, test := range map[string]struct {
		cgroup, mounts string
		files          map[string]string
		want           float64
		err            string
	}{
		"none":      {"0::/\n", v2, nil, 0, ""},
		"unlimited": {"0::/a\n", v2, map[string]string{"unified/a/cpu.max": "max 100000\n"}, 0, ""},
		"a fraction, as Kubernetes and Docker limit": {"0::/\n", v2, map[string]string{"unified/cpu.max": "150000 100000\n"}, 1.5, ""},
		"a slice around it has less": {"0::/a/b\n", v2,
			map[string]string{"unified/a/b/cpu.max": "800000 100000\n", "unified/a/cpu.max": "100000 50000\n", "unified/cpu.max": "max 100000\n"}, 2, ""},
		"a neighbour's": {"0::/a\n", v2, map[string]string{"unified/ab/cpu.max": "1 100000\n"}, 0, ""},
		"only its own part is mounted": {"0::/docker/x\n", strings.Replace(v2, " / ", " /docker/x ", 1),
			map[string]string{"unified/cpu.max": "50000 100000\n"}, .5, ""},
		"outside of what is mounted": {"0::/../other\n", v2,
			map[string]string{"unified/cpu.max": "300000 100000\n", "other/cpu.max": "1 100000\n"}, 3, ""},
		"version 1": {"9:memory:/m\n4:cpu,cpuacct:/c\n1:name=systemd:/s\n", memory + v1,
			map[string]string{"cpu/c/cpu.cfs_quota_us": "250000\n", "cpu/c/cpu.cfs_period_us": "100000\n", "cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.5, ""},
		"both": {"4:cpu,cpuacct:/c\n0::/\n", v1 + v2,
			map[string]string{"cpu/c/cpu.cfs_quota_us": "250000", "cpu/c/cpu.cfs_period_us": "100000", "unified/cpu.max": "400000 100000"}, 2.5, ""},
		"cpuset limits no time": {"4:cpuset:/c\n", strings.Replace(v1, "cpu,cpuacct", "cpuset", 1),
			map[string]string{"cpu/c/cpu.cfs_quota_us": "1", "cpu/c/cpu.cfs_period_us": "100000"}, 0, ""},
		"garbage":   {"0::/\n", v2, map[string]string{"unified/cpu.max": "lots\n"}, 0, "is not a time and a period"},
		"no period": {"0::/\n", v2, map[string]string{"unified/cpu.max": "100 0\n"}, 0, "its period must be a positive number"},
		"no groups": {"nothing\n", v2, nil, 0, `cgroup line "nothing`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(test.cgroup, "self", "cgroup")
			f.write(strings.ReplaceAll(test.mounts, "ROOT", f.root), "self", "mountinfo")
			for path, content := range test.files {
				f.write(content, path)
			}
			got, err := (&files{root: f.root}).cpuQuota()
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v, %v; want %v, %q", got, err, test.want, test.err)
			}
		})
	}
	if got, err := (&files{root: newFixture(t).root}).cpuQuota(); got != 0 || err != nil {
		t.Errorf("a kernel without control groups: %v, %v", got, err)
	}
}

// A quota is a separate fact besides the processors.
func TestHostFactsOfALimitedProcess(t *testing.T) {
	f := newFixture(t)
	f.write("0::/\n", "self", "cgroup")
	f.write("2 1 0:1 / "+f.root+"/group rw - cgroup2 cgroup2 rw\n", "self", "mountinfo")
	f.write("50000 100000\n", "group", "cpu.max")
	f.write("processor\t: 0\nvendor_id\t: x\n\nprocessor\t: 1\nvendor_id\t: x\n\nprocessor\t: 2\nvendor_id\t: x\n", "cpuinfo")
	host, _ := hostFacts(&files{root: f.root}, "")
	if host.CPUs < 1 || host.OnlineCPUs != 3 || host.CPUQuota != .5 || host.AllowedCPUs() != .5 {
		t.Errorf("host %+v", host)
	}
	host.CPUQuota = float64(host.CPUs) + 1
	if got := host.AllowedCPUs(); got != float64(host.CPUs) {
		t.Errorf("%g processors are allowed, want %d", got, host.CPUs)
	}
}
