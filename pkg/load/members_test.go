package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// at is a client that goes to one member, which may change.
type at struct {
	script
	member atomic.Int64
}

func (a *at) Member() int { return int(a.member.Load()) }

// TestMembersAreRecorded: requests by one client take 1 ms and every tenth fails; those by the
// other take 4 ms, and after 2 s they go to another member.
func TestMembersAreRecorded(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		quick := &at{script: func(context.Context, []byte, []byte) error {
			if time.Sleep(time.Millisecond); n.Add(1)%10 == 0 {
				return database.NotApplied(database.ClassOther, errors.New("no"))
			}
			return nil
		}}
		slow := &at{script: func(context.Context, []byte, []byte) error { time.Sleep(4 * time.Millisecond); return nil }}
		slow.member.Store(1)
		files, err := NewFiles(dir, time.Now())
		if err != nil {
			t.Fatalf("open the records: %v", err)
		}
		spec := writes()
		rec := NewRecorder(files, spec.Operations(), nil)
		time.AfterFunc(2*time.Second, func() { slow.member.Store(2) })
		res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 2, Duration: 4 * time.Second}}, []database.Client{quick, slow})
		if err := errors.Join(err, files.Close()); err != nil {
			t.Fatalf("run the step: %v", err)
		}
		run := &results.DatabaseRun{Leader: 1, Members: make([]results.Member, 3), Steps: []results.Step{{Start: res.Start, End: res.End}}}
		roles := results.RoleSums{}
		members, missing, err := results.SummarizeMembers(dir, run, func(m *results.MemberSecond) { roles.Add(run, m, nil) })
		if err != nil || missing != "" || len(members) != 3 {
			t.Fatalf("members %+v (%q, %v), want three", members, missing, err)
		}
		checkMember(t, members[0], 0, 3600, 400, time.Millisecond)
		checkMember(t, members[1], 1, 500, 0, 4*time.Millisecond)
		checkMember(t, members[2], 2, 500, 0, 4*time.Millisecond)
		if lead, follow := roles[results.RoleLeader], roles[results.RoleFollower]; lead.OK != members[1].OK || follow.OK != members[0].OK+members[2].OK || len(roles) != 2 {
			t.Errorf("roles %+v, want a leader, member 1, and followers, the others", roles)
		}
	})
}

func checkMember(t *testing.T, m results.MemberSummary, member int, ok, failed int64, took time.Duration) {
	t.Helper()
	if m.Member != member || m.OK < ok-3 || m.OK > ok+3 || m.Failed < failed-3 || m.Failed > failed+3 || m.Unknown != 0 {
		t.Errorf("member %d: %+v, want %d ok and %d failed of member %d, within 3", m.Member, m.MemberSecond, ok, failed, member)
	}
	if m.Service.MinNS != int64(took) || m.Service.MaxNS != int64(took) || m.Service.SumNS != m.OK*int64(took) {
		t.Errorf("member %d: service times %+v, want %v each", member, m.Service, took)
	}
	if m.Histogram == nil || m.Histogram.TotalCount() != m.OK {
		t.Fatalf("member %d: the histogram must hold all %d ok requests", member, m.OK)
	}
	if p50 := m.Histogram.ValueAtQuantile(50); p50 < int64(took)*99/100 || p50 > int64(took)*101/100 {
		t.Errorf("member %d: p50 %v, want %v to two digits", member, time.Duration(p50), took)
	}
}
