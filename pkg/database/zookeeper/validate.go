package zookeeper

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/database"
)

// Validate reports every option that a JVM or ZooKeeper would refuse, or take for
// something else, and a heap that this host does not have.
func (o *Options) Validate(h database.HostFacts) error {
	errs := []error{o.validHeap(h)}
	atLeast := func(name string, value, least int) {
		if value < least {
			errs = append(errs, fmt.Errorf("%s %d is less than %d", name, value, least))
		}
		if value > math.MaxInt32 {
			errs = append(errs, fmt.Errorf("%s %d is more than %d", name, value, math.MaxInt32))
		}
	}
	atLeast("jute_max_buffer", o.JuteMaxBuffer, 4<<10)
	atLeast("tick_time", o.TickTime, 1)
	atLeast("init_limit", o.InitLimit, 1)
	atLeast("sync_limit", o.SyncLimit, 1)
	// ZooKeeper takes 2 for less.
	atLeast("snap_count", o.SnapCount, 2)
	atLeast("max_client_connections", o.MaxClientConnections, 0)
	atLeast("listen_backlog", o.ListenBacklog, 1)
	atLeast("pre_alloc_size", o.PreAllocSize, 1)
	if o.PreAllocSize > 1<<20 {
		errs = append(errs, fmt.Errorf("pre_alloc_size %d is more than %d (1 GiB)", o.PreAllocSize, 1<<20))
	}
	errs = append(errs, ValidParents(o.KeyParents), o.Transport.Validate())
	for _, f := range o.Flags {
		errs = append(errs, validFlag(f))
	}
	return errors.Join(errs...)
}

// maxParents bounds what has to be made before a load and counted after it.
const maxParents = 100_000

// ValidParents says why keys can't be spread among that many parents, nil if they
// can.
func ValidParents(n int) error {
	if n < 1 || n > maxParents {
		return fmt.Errorf("key_parents %d is not from 1 to %d", n, maxParents)
	}
	return nil
}

// validHeap checks the two sizes of the heap, each alone and together.
func (o *Options) validHeap(h database.HostFacts) error {
	var errs []error
	size := func(name, text string) int64 {
		bytes, err := heapBytes(text)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s %w", name, err))
		case h.MemoryBytes > 0 && bytes > h.MemoryBytes:
			errs = append(errs, fmt.Errorf("%s %s is more than this host's %s", name, text, humanize.IBytes(uint64(h.MemoryBytes))))
		}
		return bytes
	}
	least, most := size("java_xms", o.JavaXms), size("java_xmx", o.JavaXmx)
	if least > most && most > 0 {
		errs = append(errs, fmt.Errorf("java_xms %s is more than java_xmx %s", o.JavaXms, o.JavaXmx))
	}
	return errors.Join(errs...)
}

var heapSize = regexp.MustCompile(`^([1-9][0-9]{0,15})([kKmMgGtT]?)$`)

// heapBytes reads a size as the JVM does, 0 for none.
func heapBytes(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	parts := heapSize.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 512M or 8G", text)
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", text, err)
	}
	shift := 10 * (strings.IndexByte(" KMGT", (strings.ToUpper(parts[2]) + " ")[0]))
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is more than any memory", text)
	}
	return n << shift, nil
}

// What Plan writes itself, or what would make the JVM run something else than the
// plan says: whole arguments, and beginnings of arguments.
var (
	plannedArgs  = []string{"-cp", "-classpath", "--class-path", "-jar", "-m", "--module"}
	plannedFlags = []string{
		"-Xms", "-Xmx", "-XX:InitialHeapSize=", "-XX:MaxHeapSize=", "-XX:MinHeapSize=", "-Djute.maxbuffer=",
		"--class-path=", "--module=",
		"-Dzookeeper.snapCount=", "-Dzookeeper.preAllocSize=", "-Dzookeeper.forceSync=",
		"-Dzookeeper.clientPortListenBacklog=", "-Dzookeeper.admin.", "-Dzookeeper.4lw.",
	}
)

// validFlag refuses what is not one argument of a JVM, and what a plan sets
// itself, because a plan that says one thing and runs another is not a record.
func validFlag(f string) error {
	begins := func(planned string) bool { return strings.HasPrefix(f, planned) }
	switch {
	case !strings.HasPrefix(f, "-") || strings.Trim(f, "-") == "":
		return fmt.Errorf("flag %q is not written as -NAME or -NAME=VALUE", f)
	case slices.Contains(plannedArgs, f) || slices.ContainsFunc(plannedFlags, begins):
		return fmt.Errorf("flag %q is set by the plan or by an option of its own", f)
	}
	return nil
}
