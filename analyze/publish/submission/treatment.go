package submission

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// treatment makes a recorded text safe to publish.
type treatment func(n *names, s string) string

func asWord(n *names, s string) string    { return n.word(s) }
func asText(n *names, s string) string    { return n.text(s) }
func asHost(n *names, s string) string    { return n.host(s) }
func asAddress(n *names, s string) string { return n.address(s) }
func asMachine(n *names, s string) string { return n.own(kindMachine, s) }
func asNetwork(n *names, s string) string { return n.own(kindNetwork, s) }
func asBase(n *names, s string) string    { return n.text(filepath.Base(s)) }
func asRule(_ *names, s string) string    { return s } // log rules of a driver

// asTime keeps only times.
func asTime(_ *names, s string) string {
	if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
		return removed
	}
	return s
}

var hexadecimal = pattern.New(`^[0-9a-f]{8,128}$`)

// asHash keeps hashes and run ids, which are random.
func asHash(_ *names, s string) string {
	if !hexadecimal().MatchString(s) {
		return removed
	}
	return s
}

// asDevice keeps local device names. Other names identify the machine that holds the disk.
func asDevice(n *names, s string) string {
	if strings.ContainsAny(s, ":/") {
		return removed
	}
	return n.word(s)
}

// treatments maps text fields in manifests and events to treatments, by their own name or by their
// parent's name and their own. A field that is not listed is left out, so nothing is published by
// accident. Numbers and booleans are kept.
var treatments = fieldsOf(map[string]treatment{
	"started ended ready load_start load_end start end issue_end from to date time behind_since": asTime,
	"run_id sha256": asHash,
	"title description text error changes.by help note notes exit unavailable lost jvm prefix os kernel source default":  asText,
	"mount_options model queue cpu_model value clock_sync time_service":                                                  asText,
	"state database id label tag asked_version built fsync durability bind version commit go code kind event command":    asWord,
	"operation workload key_law arrival backlog read read_mode range_mode failover law reason unheld compiler key of at": asWord,
	"release.name changed.name settings.release filesystem cpu_governor swept.value class unit log format":               asWord,
	"files file changes.changed changes.shortened changes.removed changes.added":                                         asWord,
	"log_rules.pattern log_rules.value log_rules.event log_rules.unit log_rules.help log_times.pattern log_times.layout": asRule,
	"client.name host.name other_load.host": asHost,
	"addr agent endpoint listen target":     asAddress,
	"locks_held.what locks_held.by locks_held.waits locks_held.fence locks_held.delayed locks_held.rule":                                               asText,
	"locks_held.why_left stages.why stages.why_refused load_sessions.why load_locks.why load_locks.by load_locks.fence locks.why locks.by locks.fence": asText,
	"faults.detail faults.run faults.saw faults.saw_over faults.failed witnesses.fault":                                                                asText,
	"consistency.why consistency.promise consistency.not_read_back":                                                                                    asText,
	"sessions_held.what sessions_held.rule sessions_held.renewal sessions_held.watch":                                                                  asText,
	"sessions_held.why sessions_held.why_left watched.how watched.broken watched.behind_why watched.slow_why watched.gap_why":                          asText,
	"discovered.what discovered.rule discovered.renewal discovered.watch discovered.beside":                                                            asText,
	"discovered.why discovered.why_left discovered.broken_why discovered.behind_why changes.why":                                                       asText,
	"locks_held.began sessions_held.death discovered.began recovery.until":                                                                             asTime,
	"plan.recipe load_locks.recipe locks.recipe plan.release plan.registry fairness.order consistency.form consistency.back":                           asWord,
	"boot_id":                      asMachine,
	"net_ns":                       asNetwork,
	"device":                       asDevice,
	"value_sizes.file config.path": asBase,
})

// fieldsOf makes an entry for each name in the space-separated keys.
func fieldsOf(lists map[string]treatment) map[string]treatment {
	all := map[string]treatment{}
	for list, t := range lists {
		for _, name := range strings.Fields(list) {
			all[name] = t
		}
	}
	return all
}
