package dbtester_test

import (
	"os"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/coreos/dbtester"
	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/fileinspect"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/workload"
)

// oldName is an exported name of the classic library, as docs/library.md writes it, and
// what took its place; nil for a name that was dropped.
type oldName struct {
	name string
	now  any
}

// oldNames lists the exported names of the classic root package, and those of its other
// packages that programs used. That it compiles proves that what took their place exists.
func oldNames() []oldName {
	var experiment config.Experiment
	return []oldName{
		{"`ReadConfig`", dbtester.ReadConfig},
		{"`Config`", dbtester.Config{}},
		{"`Config.TestTitle`, `Config.TestDescription`", experiment.Title},
		{"`Config.AllDatabaseIDList`", experiment.Databases},
		{"`Config.DatabaseIDToConfigClientMachineAgentControl`", experiment.Databases},
		{"`Config.DatabaseIDToConfigAnalyzeMachineInitial`", experiment.Inputs},
		{"`Config.AnalyzePlotPathPrefix`", experiment.Report.PlotDir},
		{"`Config.AnalyzePlotList`", experiment.Plots},
		{"`MakeTag`", dbtester.MakeTag},
		{"`Config.Stress`", (*dbtester.Config).Stress},
		{"`Config.BroadcaseRequest`", (*dbtester.Config).BroadcaseRequest},
		{"`Config.ToRequest`", (*dbtester.Config).ToRequest},
		{"`Config.SaveDiskSpaceUsageSummary`", (*dbtester.Config).SaveDiskSpaceUsageSummary},
		{"`DiskSpaceUsageSummaryColumns`", dbtester.DiskSpaceUsageSummaryColumns},
		{"`Config.UploadToGoogle`", (*dbtester.Config).UploadToGoogle},
		{"`Config.WriteREADME`", (*dbtester.Config).WriteREADME},
		{"`ReqHandler`", dbtester.ReqHandler(nil)},
		{"`FindRangesLatency`", dbtester.FindRangesLatency},
		{"`CumulativeKeyNumToAvgLatency`", dbtester.CumulativeKeyNumToAvgLatency{}},
		{"`CumulativeKeyNumToAvgLatencySlice`", sort.Interface(dbtester.CumulativeKeyNumToAvgLatencySlice(nil))},
		{"`FindRangesData`", dbtester.FindRangesData},
		{"`CumulativeKeyNumAndOtherData`", dbtester.CumulativeKeyNumAndOtherData{}},
		{"`CumulativeKeyNumAndOtherDataSlice`", sort.Interface(dbtester.CumulativeKeyNumAndOtherDataSlice(nil))},
		{"`CumulativeKeyNumAndOtherDataByUnixSecond`", sort.Interface(dbtester.CumulativeKeyNumAndOtherDataByUnixSecond(nil))},
		{"`dbtesterpb.Operation`", dbtester.Operation(0)},
		{"`dbtesterpb.Operation_Start`, `Operation_Stop`, `Operation_Heartbeat`", dbtester.Start + dbtester.Stop + dbtester.Heartbeat},
		{"`dbtesterpb.Request`", &dbtesterpb.StartRequest{}},
		{"`dbtesterpb.Response`", dbtester.Response{}},
		{"`dbtesterpb.TransporterClient`, `NewTransporterClient`", dbtesterpb.NewAgentClient},
		{"`dbtesterpb.TransporterServer`, `RegisterTransporterServer`", dbtesterpb.RegisterAgentServer},
		{"`dbtesterpb.DatabaseID` and its values", nil},
		{"`dbtesterpb.ConfigClientMachineInitial`", experiment.Export},
		{"`dbtesterpb.ConfigClientMachineAgentControl`", config.Database{}},
		{"`dbtesterpb.ConfigClientMachineBenchmarkOptions`", workload.Load{}},
		{"`dbtesterpb.ConfigClientMachineBenchmarkSteps`", config.Steps{}},
		{"`dbtesterpb.ConfigAnalyzeMachineInitial`", config.Inputs{}},
		{"`dbtesterpb.ConfigAnalyzeMachineAllAggregatedOutput`, `ConfigAnalyzeMachineREADME`", config.Report{}},
		{"`dbtesterpb.ConfigAnalyzeMachinePlot`", config.Plot{}},
		{"`dbtesterpb.ConfigAnalyzeMachineImage`", config.Image{}},
		{"`dbtesterpb.Flag_Etcd_V3_3` and other flags", etcd.Options{}},
		{"`agent.NewServer`", agent.New},
		{"`agent.Command`, `analyze.Command`, `control.Command`", nil},
		{"`pkg/fileinspect.Size`", fileinspect.Size},
		{"`pkg/fileinspect.Walk`", nil},
		{"`pkg/ntp.DefaultSync`", nil},
		{"`pkg/remotestorage.Uploader`", (*remotestorage.Store)(nil)},
		{"`pkg/remotestorage.NewGoogleCloudStorage`", remotestorage.Open},
		{"`pkg/remotestorage.WithContentType`", nil},
	}
}

// TestOldNames: the table of docs/library.md has every old name once, what took its place,
// and for a dropped one the reason.
func TestOldNames(t *testing.T) {
	text, err := os.ReadFile("docs/library.md")
	if err != nil {
		t.Fatalf("read the table of old names: %v", err)
	}
	_, table, _ := strings.Cut(string(text), "| old name |")
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 3 && strings.HasPrefix(cells[0], "| `") {
			name := strings.TrimPrefix(cells[0], "| ")
			if rows[name] != nil {
				t.Errorf("docs/library.md lists %s twice", name)
			}
			rows[name] = []string{cells[1], strings.TrimSuffix(cells[2], " |")}
		}
	}
	for _, old := range oldNames() {
		row, listed := rows[old.name]
		switch {
		case !listed:
			t.Errorf("docs/library.md does not list %s", old.name)
		case (row[0] == "dropped") != (old.now == nil):
			t.Errorf("docs/library.md has %q for %s, which is %v now", row[0], old.name, reflect.TypeOf(old.now))
		case row[1] == "":
			t.Errorf("docs/library.md has no reason or difference for %s", old.name)
		}
		delete(rows, old.name)
	}
	for name := range rows {
		t.Errorf("docs/library.md lists %s, which nothing proves to exist", name)
	}
}
