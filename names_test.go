package dbtester_test

import (
	"os"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"testing"

	"github.com/coreos/dbtester"
	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/process/fileinspect"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/workload"
)

// oldName is an exported name in the classic library and its replacement, both as in
// docs/library.md. Now is the replacement itself; nil for a name that was dropped.
type oldName struct {
	name, place string
	now         any
}

// ownName returns the name of a function, method or type in this module, and "" for other values,
// such as fields.
func ownName(now any) string {
	t := reflect.TypeOf(now)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return ""
	case t.Name() != "":
		if strings.HasPrefix(t.PkgPath(), "github.com/coreos/dbtester") {
			return t.Name()
		}
		return ""
	case t.Kind() == reflect.Func:
		name := runtime.FuncForPC(reflect.ValueOf(now).Pointer()).Name()
		return name[strings.LastIndex(name, ".")+1:]
	}
	return ""
}

// oldNames lists the exported names in the classic root package, and the names in its other
// packages that programs used. Compiling it proves that the replacements exist.
func oldNames() []oldName {
	var experiment config.Experiment
	return []oldName{
		{"`ReadConfig`", "`ReadConfig`", dbtester.ReadConfig},
		{"`Config`", "`Config`", dbtester.Config{}},
		{"`Config.TestTitle`, `Config.TestDescription`", "`Config.Experiment.Title`, `.Description`", experiment.Title},
		{"`Config.AllDatabaseIDList`", "`Config.Experiment.Databases`", experiment.Databases},
		{"`Config.DatabaseIDToConfigClientMachineAgentControl`", "`Config.Experiment.Databases`", experiment.Databases},
		{"`Config.DatabaseIDToConfigAnalyzeMachineInitial`", "`Config.Experiment.Inputs`", experiment.Inputs},
		{"`Config.AnalyzePlotPathPrefix`", "`Config.Experiment.Report.PlotDir`", experiment.Report.PlotDir},
		{"`Config.AnalyzePlotList`", "`Config.Experiment.Plots`", experiment.Plots},
		{"`MakeTag`", "`MakeTag`", dbtester.MakeTag},
		{"`Config.Stress`", "`Config.Stress`", (*dbtester.Config).Stress},
		{"`Config.BroadcaseRequest`", "`Config.BroadcastRequest`", (*dbtester.Config).BroadcastRequest},
		{"`Config.ToRequest`", "`Config.ToRequest`", (*dbtester.Config).ToRequest},
		{"`Config.SaveDiskSpaceUsageSummary`", "`Config.SaveDiskSpaceUsageSummary`", (*dbtester.Config).SaveDiskSpaceUsageSummary},
		{"`DiskSpaceUsageSummaryColumns`", "`DiskSpaceUsageSummaryColumns`", dbtester.DiskSpaceUsageSummaryColumns},
		{"`Config.UploadToGoogle`", "`Config.UploadToGoogle`", (*dbtester.Config).UploadToGoogle},
		{"`Config.WriteREADME`", "`Config.WriteREADME`", (*dbtester.Config).WriteREADME},
		{"`ReqHandler`", "`ReqHandler`", dbtester.ReqHandler(nil)},
		{"`FindRangesLatency`", "`FindRangesLatency`", dbtester.FindRangesLatency},
		{"`CumulativeKeyNumToAvgLatency`", "`CumulativeKeyNumToAvgLatency`", dbtester.CumulativeKeyNumToAvgLatency{}},
		{"`CumulativeKeyNumToAvgLatencySlice`", "`CumulativeKeyNumToAvgLatencySlice`", sort.Interface(dbtester.CumulativeKeyNumToAvgLatencySlice(nil))},
		{"`FindRangesData`", "`FindRangesData`", dbtester.FindRangesData},
		{"`CumulativeKeyNumAndOtherData`", "`CumulativeKeyNumAndOtherData`", dbtester.CumulativeKeyNumAndOtherData{}},
		{"`CumulativeKeyNumAndOtherDataSlice`", "`CumulativeKeyNumAndOtherDataSlice`", sort.Interface(dbtester.CumulativeKeyNumAndOtherDataSlice(nil))},
		{"`CumulativeKeyNumAndOtherDataByUnixSecond`", "`CumulativeKeyNumAndOtherDataByUnixSecond`", sort.Interface(dbtester.CumulativeKeyNumAndOtherDataByUnixSecond(nil))},
		{"`dbtesterpb.Operation`", "`Operation`", dbtester.Operation(0)},
		{"`dbtesterpb.Operation_Start`, `Operation_Stop`, `Operation_Heartbeat`", "`Start`, `Stop`, `Heartbeat`", []dbtester.Operation{dbtester.Start, dbtester.Stop, dbtester.Heartbeat}},
		{"`dbtesterpb.Request`", "`dbtesterpb.StartRequest` and others", &dbtesterpb.StartRequest{}},
		{"`dbtesterpb.Response`", "`Response`", dbtester.Response{}},
		{"`dbtesterpb.TransporterClient`, `NewTransporterClient`", "`dbtesterpb.AgentClient`, `NewAgentClient`", dbtesterpb.NewAgentClient},
		{"`dbtesterpb.TransporterServer`, `RegisterTransporterServer`", "`dbtesterpb.AgentServer`, `RegisterAgentServer`", dbtesterpb.RegisterAgentServer},
		{"`dbtesterpb.DatabaseID` and its values", "dropped", nil},
		{"`dbtesterpb.ConfigClientMachineInitial`", "`Config.Experiment.Export`, `.Upload`", experiment.Export},
		{"`dbtesterpb.ConfigClientMachineAgentControl`", "`config.Database`", config.Database{}},
		{"`dbtesterpb.ConfigClientMachineBenchmarkOptions`", "`workload.Load`", workload.Load{}},
		{"`dbtesterpb.ConfigClientMachineBenchmarkSteps`", "`config.Steps`", config.Steps{}},
		{"`dbtesterpb.ConfigAnalyzeMachineInitial`", "`config.Inputs`", config.Inputs{}},
		{"`dbtesterpb.ConfigAnalyzeMachineAllAggregatedOutput`, `ConfigAnalyzeMachineREADME`", "`config.Report`", config.Report{}},
		{"`dbtesterpb.ConfigAnalyzeMachinePlot`", "`config.Plot`", config.Plot{}},
		{"`dbtesterpb.ConfigAnalyzeMachineImage`", "`config.Image`", config.Image{}},
		{"`dbtesterpb.Flag_Etcd_V3_3` and other flags", "`etcd.Options` and others", etcd.Options{}},
		{"`agent.NewServer`", "`agent.New`", agent.New},
		{"`agent.Command`, `analyze.Command`, `control.Command`", "dropped", nil},
		{"`pkg/process/fileinspect.Size`", "`fileinspect.Size`", fileinspect.Size},
		{"`pkg/process/fileinspect.Walk`", "dropped", nil},
		{"`pkg/ntp.DefaultSync`", "dropped", nil},
		{"`pkg/remotestorage.Uploader`", "`remotestorage.Store`", (*remotestorage.Store)(nil)},
		{"`pkg/remotestorage.NewGoogleCloudStorage`", "`remotestorage.Open`", remotestorage.Open},
		{"`pkg/remotestorage.WithContentType`", "dropped", nil},
	}
}

// TestOldNames: the table in docs/library.md has every old name once, with its replacement
// or the reason why it was dropped.
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
		case row[0] != old.place:
			t.Errorf("docs/library.md has %q for %s, want %q", row[0], old.name, old.place)
		case (old.place == "dropped") != (old.now == nil), !strings.Contains(old.place, ownName(old.now)):
			t.Errorf("%q is named in place of %s, which is %v %s now", old.place, old.name, reflect.TypeOf(old.now), ownName(old.now))
		case row[1] == "":
			t.Errorf("docs/library.md has no reason or difference for %s", old.name)
		}
		delete(rows, old.name)
	}
	for name := range rows {
		t.Errorf("docs/library.md lists %s, which nothing proves to exist", name)
	}
}
