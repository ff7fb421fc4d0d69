package results

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/process/environment"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/results/digest"
	"github.com/coreos/dbtester/pkg/workload"
)

// FormatVersion is the version of the layout and the columns in result folders. It rises when an
// older reader would misread a newer folder. Folders up to this version can be read; numbers
// missing from an older one are [NotRecorded].
//
// Version 2 added progress.csv, members.csv, latency-members.hlog and the latencies of declined
// requests. Its throughput counts the requests that ended inside the measured window.
const FormatVersion = 2

// State is the last stage that a run reached.
type State string

// The states of a run, or of one database in it.
const (
	StateRunning     State = "running"
	StateComplete    State = "complete"
	StateInterrupted State = "interrupted"
	StateFailed      State = "failed"
)

// Manifest describes one result folder: the resolved experiment, the machines and versions that ran
// it, and the marks on its numbers. It is written before anything starts and again when the run
// ends. The other files can be read without it.
type Manifest struct {
	Format      int       `json:"format"`
	State       State     `json:"state"`
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
	Started     time.Time `json:"started"`
	Ended       time.Time `json:"ended,omitzero"`
	RunID       string    `json:"run_id"`
	Seed        uint64    `json:"seed"`
	// Local: the agents ran inside the control process, so client CPU and memory include theirs.
	Local bool `json:"local,omitempty"`
	// Trial counts from 1 to Trials.
	Trial  int  `json:"trial"`
	Trials int  `json:"trials"`
	Tool   Tool `json:"tool"`
	Client Host `json:"client"`
	// SelfCheck is the self-check result given to control, nil without one. A mark reports a
	// self-check that was not made on the client.
	SelfCheck *SelfCheck `json:"self_check,omitempty"`
	// Config is the resolved experiment, every default filled in, without secrets.
	Config json.RawMessage `json:"config,omitempty"`
	// Need is what the reader needs from a database, nil if the experiment file does not say.
	Need      *workload.Need `json:"need,omitempty"`
	Databases []*DatabaseRun `json:"databases"`
	// Validity are marks on the whole run; each database has its own too.
	Validity []Mark `json:"validity"`
}

// Mark qualifies a run's numbers: a reader must know it to use them.
type Mark struct {
	// Code is a short stable word: "shared host", "not durable", "keys found".
	Code string `json:"code"`
	// Invalid marks make the run invalid (exit 3); the others are notes.
	Invalid bool `json:"invalid,omitempty"`
	// Text is the mark in a sentence, as it was made when the run was judged.
	Text string `json:"text"`
	// Values and Words make up the sentence; nil in records from older releases.
	Values mark.Values `json:"values,omitempty"`
	Words  mark.Words  `json:"words,omitempty"`
}

// NewMark makes a mark with its sentence. Values that are not numbers are left out: JSON
// cannot express them.
func NewMark(code string, invalid bool, values mark.Values, words mark.Words) Mark {
	maps.DeleteFunc(values, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	return Mark{Code: code, Invalid: invalid, Text: mark.Text(code, values, words), Values: values, Words: words}
}

// Mark marks the run. The mark invalidates the run if its code has that weight.
func (r *DatabaseRun) Mark(code string, values mark.Values, words mark.Words) {
	kind, _ := mark.Of(code)
	r.Validity = append(r.Validity, NewMark(code, kind.Weight == mark.Invalid, values, words))
}

// Told returns the mark with the sentence in this release for its values. A mark from an older
// release, or with a code from a newer one, keeps its text.
func (m Mark) Told() Mark {
	if len(m.Values)+len(m.Words) > 0 {
		if text := mark.Text(m.Code, m.Values, m.Words); text != "" {
			m.Text = text
		}
	}
	return m
}

// DatabaseRun records one database in a run: one folder, one table column. Its embedded structs
// are on one level in JSON.
type DatabaseRun struct {
	ID string `json:"id"`
	// Database is the driver name, Label the part of the id after "__".
	Database string `json:"database"`
	Label    string `json:"label,omitempty"`
	// Tag names the folder and the column.
	Tag string `json:"tag"`
	// Asked is the version named in the experiment file; Members hold the versions that ran.
	Asked       string `json:"asked_version,omitempty"`
	Description string `json:"description,omitempty"`
	Built       string `json:"built,omitempty"`
	State       State  `json:"state"`
	Error       string `json:"error,omitempty"`
	Setup
	Load Load `json:"load"`
	// Swept is the part of a sweep in this run, nil without one.
	Swept   *workload.Swept `json:"swept,omitempty"`
	Members []Member        `json:"members"`
	Logs
	// Leader is the leading member's index when the load began, -1 if unknown.
	Leader int `json:"leader"`
	Moments
	Steps []Step `json:"steps"`
	Data
	Totals *Totals `json:"totals,omitempty"`
	Issuing
	// Digests cover the recorded files and are made when the run of the database ends. They are nil
	// in manifests from releases without digests.
	Digests *digest.Set `json:"digests,omitempty"`
	// Records are what abilities recorded, by key in the manifest.
	Records  Records `json:"-"`
	Validity []Mark  `json:"validity"`
}

// Setup is the member configuration.
type Setup struct {
	Options json.RawMessage `json:"options,omitempty"`
	// OptionTexts are Options by their names in experiment files, as texts with units; nil in
	// older manifests.
	OptionTexts map[string]string `json:"option_texts,omitempty"`
	// Settings is nil for a cluster that was already running, and in older manifests.
	Settings *Settings `json:"settings,omitempty"`
	// Resources are each member's limits; nil without limits.
	Resources *resources.Limits `json:"resources,omitempty"`
	// Fsync states when a write is on disk, and Durability is its class; both are "" if not
	// known, as in older manifests: see [DatabaseRun.SyncClass].
	Fsync      string              `json:"fsync,omitempty"`
	Durability declared.Durability `json:"durability,omitempty"`
}

// Logs describes how events are found in member logs.
type Logs struct {
	LogRules []declared.LogRule `json:"log_rules,omitempty"`
	LogTimes []declared.LogTime `json:"log_times,omitempty"`
}

// Moments mark the phases of a run, in the client clock. Started is when control asked for the
// first member to start, Ready when a quorum served, and LoadStart to LoadEnd the load window.
type Moments struct {
	Started   time.Time `json:"started,omitzero"`
	Ready     time.Time `json:"ready,omitzero"`
	LoadStart time.Time `json:"load_start,omitzero"`
	LoadEnd   time.Time `json:"load_end,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
}

// Data describes the data in the database, without the load's requests.
type Data struct {
	Keys *Keys `json:"keys,omitempty"`
	// Shared is the part of a shared cluster that the load used; nil for a cluster of its own.
	Shared *Shared `json:"shared,omitempty"`
	// Preload is the data written before the load, nil without any.
	Preload *Preload `json:"preload,omitempty"`
	// Sessions are the sessions that requests began, renewed or ended, nil without any.
	Sessions *LoadSessions `json:"load_sessions,omitempty"`
	// Locks are the locks that requests acquired, nil without any.
	Locks *LoadLocks `json:"load_locks,omitempty"`
}

// Issuing describes how the client machines issued the load.
type Issuing struct {
	// Backoff describes how clients back off; nil in older manifests, whose clients did not.
	Backoff *Backoff `json:"backoff,omitempty"`
	// Lateness is the time by which the client itself delayed each request that it sent with a
	// rate. It is the whole sent - due if a client waited for the due time, else at most the time
	// in which the client was stopped since a client was last free. Format 1 has only the former.
	// SchedulingLag is the lateness of a timer in the client process during the load, sampled every
	// 10 ms, and Stops is when the process did not run; nil if not recorded.
	Lateness      *Spread `json:"lateness,omitempty"`
	SchedulingLag *Spread `json:"scheduling_lag,omitempty"`
	Stops         *Stops  `json:"client_stops,omitempty"`
	// Generators are the machines that issued the load, in part order; empty if control issued
	// it. Each generator then has its own Lateness, SchedulingLag and Stops.
	Generators []Generator `json:"generators,omitempty"`
	// SelfCheck is the latency added by the client to this load on a loopback server; nil unless
	// requested.
	SelfCheck *LoadCheck `json:"self_check,omitempty"`
	// OtherLoad is the load on each sampled machine without the client and the members.
	OtherLoad []OtherLoad `json:"other_load,omitempty"`
}

// Keys compares the database's own key counts before and after a load that writes.
type Keys struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
	// MinAdded and MaxAdded bound After - Before: the writes that surely created a key,
	// and the writes and probes that may have created one.
	MinAdded int64 `json:"min_added"`
	MaxAdded int64 `json:"max_added"`
	// Error is the reason why the count is missing.
	Error string `json:"error,omitempty"`
}

// Preload is data written before a load. No figure includes it.
type Preload struct {
	Keys int64 `json:"keys"`
	// PerRequest is the most keys that one request wrote.
	PerRequest int           `json:"keys_per_request"`
	Took       time.Duration `json:"took_ns"`
	// Counted is the database's own key count after the preload, -1 if it was not asked.
	Counted int64 `json:"counted"`
}

// LoadSessions counts the sessions that requests in a load began, renewed and ended. Every granted
// session is also counted by how it ended: Granted + Begun = Revoked + Ended + Expired + Left.
type LoadSessions struct {
	// TTL is the requested one, and Took the time until the sessions before the load were granted.
	TTL  time.Duration `json:"ttl_ns"`
	Took time.Duration `json:"took_ns,omitempty"`
	// Granted counts sessions granted before the load, Begun sessions granted to its requests.
	// Doubtful counts requests for a session whose answer was lost: that session, if there is
	// one, ends after its TTL.
	Granted  int64 `json:"granted"`
	Begun    int64 `json:"begun"`
	Doubtful int64 `json:"doubtful,omitempty"`
	// Requests in the load ended the Revoked sessions; the Ended ones were ended after the load.
	// The Expired ones ended by themselves, and the Left ones could not be ended, for the reason
	// Why.
	Revoked int64  `json:"revoked"`
	Ended   int64  `json:"ended"`
	Expired int64  `json:"expired,omitempty"`
	Left    int64  `json:"left,omitempty"`
	Why     string `json:"why,omitempty"`
	// Locks are the locks that requests acquired, while a part reports them: [Data.Locks] has
	// those from all parts.
	Locks *LoadLocks `json:"locks,omitempty"`
}

// LoadLocks counts the locks that requests in a load acquired. Each was given up in one way:
// Acquired = Released + Lost + Unclear.
type LoadLocks struct {
	// Recipe is the way to take a lock, By the library that has it, Fence its kind of fence, and
	// TTL the one granted to sessions by members.
	Recipe string        `json:"recipe"`
	By     string        `json:"by"`
	Fence  string        `json:"fence"`
	TTL    time.Duration `json:"ttl_ns"`
	// Opened counts contenders that were opened before steps, and Replaced contenders opened to
	// replace others whose session had ended. Left counts contenders that could not be closed.
	Opened   int64 `json:"opened"`
	Replaced int64 `json:"replaced,omitempty"`
	Left     int64 `json:"left,omitempty"`
	// Acquired locks were Released, Lost before their release, or Unclear after an error.
	Acquired int64 `json:"acquired"`
	Released int64 `json:"released"`
	Lost     int64 `json:"lost,omitempty"`
	Unclear  int64 `json:"unclear,omitempty"`
	// Overlaps counts locks acquired while another holder believed that it held the same lock.
	// Disorder counts locks with a fence not greater than that of the previous holder. Believed
	// counts locks that were still held after their session had ended, because the client was
	// stopped.
	Overlaps int64 `json:"overlaps"`
	Disorder int64 `json:"fences_out_of_order"`
	Believed int64 `json:"believed,omitempty"`
	// Parts are the machines that judged their own holders; 0 is one. Compared locks were
	// compared with those from other parts, whose clocks are known to within ClockError. Unsure
	// counts the compared locks for which neither an overlap nor its absence is certain.
	Parts      int           `json:"parts,omitempty"`
	Compared   int64         `json:"compared,omitempty"`
	Unsure     int64         `json:"unsure,omitempty"`
	ClockError time.Duration `json:"clock_error_ns,omitempty"`
	// Why is the first error among the Left or Unclear ones.
	Why string `json:"why,omitempty"`
}

// Add adds the locks from another part.
func (l *LoadLocks) Add(o LoadLocks) {
	l.Parts = max(l.Parts, 1) + max(o.Parts, 1)
	l.Opened, l.Replaced, l.Left = l.Opened+o.Opened, l.Replaced+o.Replaced, l.Left+o.Left
	l.Acquired, l.Released, l.Lost, l.Unclear = l.Acquired+o.Acquired, l.Released+o.Released, l.Lost+o.Lost, l.Unclear+o.Unclear
	l.Overlaps, l.Disorder, l.Believed = l.Overlaps+o.Overlaps, l.Disorder+o.Disorder, l.Believed+o.Believed
	l.Why = cmp.Or(l.Why, o.Why)
}

// Add adds the sessions from another part.
func (s *LoadSessions) Add(o LoadSessions) {
	s.TTL, s.Took = max(s.TTL, o.TTL), max(s.Took, o.Took)
	s.Granted, s.Begun, s.Doubtful = s.Granted+o.Granted, s.Begun+o.Begun, s.Doubtful+o.Doubtful
	s.Revoked, s.Ended, s.Expired, s.Left = s.Revoked+o.Revoked, s.Ended+o.Ended, s.Expired+o.Expired, s.Left+o.Left
	s.Why = cmp.Or(s.Why, o.Why)
	switch {
	case o.Locks == nil:
	case s.Locks == nil:
		locks := *o.Locks
		s.Locks = &locks
	default:
		s.Locks.Add(*o.Locks)
	}
}

// Found returns the number of keys that the load added, by the database's own count.
func (k Keys) Found() int64 { return k.After - k.Before }

// Shared is the part of a cluster that a load shared with others.
type Shared struct {
	// Prefix is the name below which all load keys lie.
	Prefix string `json:"prefix"`
	// Cleanup describes how the keys were removed; nil if that was not requested.
	Cleanup *Cleanup `json:"cleanup,omitempty"`
	// Left counts the keys below the prefix at the end, -1 if not known.
	Left int64 `json:"left"`
}

// Cleanup records that the keys below a prefix were removed.
type Cleanup struct {
	Removed int64         `json:"removed"`
	Took    time.Duration `json:"took_ns"`
	// Error is the reason why the removal is not complete.
	Error string `json:"error,omitempty"`
}

// Member records a cluster member as it ran.
type Member struct {
	Index    int            `json:"index"`
	Addr     string         `json:"addr"`
	Agent    string         `json:"agent,omitempty"`
	Endpoint string         `json:"endpoint"`
	Ports    map[string]int `json:"ports,omitempty"`
	Listen   []string       `json:"listen,omitempty"`
	// Argv are the commands run, in order.
	Argv    [][]string `json:"argv,omitempty"`
	Version string     `json:"version,omitempty"`
	// Release is the release of the member, from the agent cache; nil if it ran an executable given
	// to the agent, or the server in the agent binary.
	Release *Release `json:"release,omitempty"`
	// Environment is each command's environment; empty in older manifests, and for a cluster that
	// was already running.
	Environment []environment.Facts `json:"environment,omitempty"`
	Host        *Host               `json:"host,omitempty"`
	// Clock compares the agent clock with the client clock.
	Clock *Clock `json:"clock,omitempty"`
	// Disk is the data directory after the member stopped; nil if not measured.
	Disk *Disk `json:"disk,omitempty"`
	// Use is what the member used until it stopped; nil without limits.
	Use *resources.Use `json:"use,omitempty"`
	// Exit describes how each command ended, such as "etcd: exit 0 after interrupt".
	Exit []string `json:"exit,omitempty"`
	// Files are the files collected from the agent, below the tag folder.
	Files []string `json:"files,omitempty"`
	// LogCuts are logs whose middle was cut because they grew past the agent's bound.
	LogCuts []LogCut `json:"log_cuts,omitempty"`
	// Records are what abilities recorded, by key in the manifest.
	Records Records `json:"-"`
	Error   string  `json:"error,omitempty"`
}

// LogCut is the amount missing from a log.
type LogCut struct {
	// File is below the tag folder.
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// Release describes a member's program files: their origin and their hashes.
type Release struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Kind is how it was obtained: "archive", "go build", "maven" or "local".
	Kind string `json:"kind"`
	// Source is where it came from: a URL, a module at a version, a path.
	Source string `json:"source"`
	// SHA256 maps each tool to its hash in hex.
	SHA256 map[string]string `json:"sha256,omitempty"`
	// Notes must be printed wherever the release is named.
	Notes []string `json:"notes,omitempty"`
}

// Disk is a data directory's size in bytes and the file system that holds it.
type Disk struct {
	ApparentBytes  int64  `json:"apparent_bytes"`
	AllocatedBytes int64  `json:"allocated_bytes"`
	Filesystem     string `json:"filesystem"`
	Device         string `json:"device,omitempty"`
	// MountOptions are mount and file system options, as in mountinfo.
	MountOptions string `json:"mount_options,omitempty"`
	// Model is the name that the device gives itself, and Queue its properties by the kernel, such
	// as "not rotational, scheduler none, write cache write back".
	Model string `json:"model,omitempty"`
	Queue string `json:"queue,omitempty"`
	// FsyncP50 is the median of a short fdatasync probe in the data directory's file system before
	// the load; 0 if not probed.
	FsyncP50 time.Duration `json:"fdatasync_p50_ns,omitempty"`
	// Tap is what the tap on the calls of the member that put writes on disk costs; nil without a
	// tap, in older manifests, and if not measured.
	Tap *TapCost `json:"tap,omitempty"`
}

// TapCost compares the time for appending 4 KiB and fdatasync in the data directory's file system,
// under the member's tap and without it: the medians of N times each, in turns, before the member
// started.
type TapCost struct {
	N       int           `json:"n"`
	With    time.Duration `json:"with_p50_ns"`
	Without time.Duration `json:"without_p50_ns"`
}

// FastestFsync is the least time a durable fdatasync takes on any disk. A faster one only reached
// memory.
const FastestFsync = 20 * time.Microsecond

// LosesPower reports whether the file system loses data in a power cut: file systems in
// memory do, and overlay, whose upper layer is often in memory and cannot be seen.
func (d Disk) LosesPower() bool {
	return slices.Contains([]string{"tmpfs", "ramfs", "overlay"}, d.Filesystem)
}

// SyncsTooFast reports whether the probe was faster than [FastestFsync].
func (d Disk) SyncsTooFast() bool { return d.FsyncP50 > 0 && d.FsyncP50 < FastestFsync }

// Stopped returns the stretches, at least 100 ms long, in which the client did not run, in order.
// Measurements in them do not reflect the database, so a reader may cut them. The list is also
// empty if the run did not record them.
func (r *DatabaseRun) Stopped() []Stretch {
	if r.Stops == nil {
		return nil
	}
	return r.Stops.Stretches
}

// SyncClass returns the durability class, "" if the records do not show it. Records without a class
// have a text, known in these two forms.
func (r *DatabaseRun) SyncClass() declared.Durability {
	switch {
	case r.Durability != "":
		return r.Durability
	case strings.HasPrefix(r.Fsync, "none:"):
		return declared.NeverSynced
	case strings.HasSuffix(r.Fsync, " before a write is answered"):
		return declared.EveryWrite
	}
	return ""
}

// Records hold what abilities recorded for a run or a member, by key: see pkg/ability. They are
// among the keys of the run or member itself. Records from abilities unknown to this release are
// kept.
type Records map[string]json.RawMessage
