package main

import (
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/results"
)

// clientFlags select the measurements on the client: this process and its machine.
type clientFlags struct {
	device     string
	iface      string
	cpuProfile string
	selfcheck  string             // a file, selfcheckAuto, or ""
	check      *results.SelfCheck // read from the file
}

func (f *clientFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.device, "disk-device", "", "block device to sample on this machine (default: the one below the results folder)")
	flags.StringVar(&f.iface, "network-interface", "", "network interface to sample on this machine (default: the one that routes to the members)")
	flags.StringVar(&f.cpuProfile, "cpuprofile", "", "write a CPU profile of this process, for go tool pprof")
	flags.StringVar(&f.selfcheck, "selfcheck", "", "auto: before each load, measure on a loopback server the latency that this client adds; otherwise FILE, the output of dbtester selfcheck --json on this machine, recorded in the manifest")
}
