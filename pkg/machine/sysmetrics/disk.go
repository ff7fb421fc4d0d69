package sysmetrics

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// DiskFacts describes the storage below dir: file system, device, mount options, and kernel facts
// about the device. Facts that cannot be read are empty.
func DiskFacts(dir string) (results.Disk, error) {
	return (&files{root: "/proc"}).diskFacts(dir, "/sys")
}

func (f *files) diskFacts(dir, sys string) (results.Disk, error) {
	mount, device, err := f.mounted(dir)
	if err != nil {
		return results.Disk{}, err
	}
	d := results.Disk{Filesystem: mount.Type, Device: device, MountOptions: joinOptions(mount.MountOptions, mount.Options)}
	if device != "" {
		d.Model, d.Queue = deviceFacts(sys, device)
	}
	return d, nil
}

// joinOptions lists each option that a mount and its file system have, once.
func joinOptions(lists ...string) string {
	var all []string
	seen := map[string]bool{}
	for _, list := range lists {
		for option := range strings.SplitSeq(list, ",") {
			if option != "" && !seen[option] {
				seen[option] = true
				all = append(all, option)
			}
		}
	}
	return strings.Join(all, ",")
}

// deviceFacts returns the model and queue properties of a block device. A partition has its
// device's.
func deviceFacts(sys, device string) (model, queue string) {
	dir, err := filepath.EvalSymlinks(filepath.Join(sys, "class", "block", device))
	if err != nil {
		return "", ""
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	read := func(elem ...string) string {
		data, err := os.ReadFile(filepath.Join(dir, filepath.Join(elem...)))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(data))
	}
	var facts []string
	switch read("queue", "rotational") {
	case "0":
		facts = append(facts, "not rotational")
	case "1":
		facts = append(facts, "rotational")
	}
	if s := chosen(read("queue", "scheduler")); s != "" {
		facts = append(facts, "scheduler "+s)
	}
	if s := read("queue", "write_cache"); s != "" {
		facts = append(facts, "write cache "+s)
	}
	return read("device", "model"), strings.Join(facts, ", ")
}

// chosen returns the word in brackets from a list such as "none [mq-deadline] bfq", or the whole
// list if it has no brackets.
func chosen(list string) string {
	if _, after, ok := strings.Cut(list, "["); ok {
		word, _, _ := strings.Cut(after, "]")
		return word
	}
	return list
}
