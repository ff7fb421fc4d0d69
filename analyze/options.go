package analyze

import (
	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/workload"
)

// Options name the records to analyze and the place of the report.
type Options struct {
	// Folders are result folders, in the order of the table's columns. If a tag occurs
	// in several, the second becomes "TAG #2", and so on.
	Folders []string
	// Classic, if not nil, adds classic files as columns. Without Out its Report gives
	// the paths of the outputs.
	Classic *Classic
	// Out is the folder to write into. By default it is "report" in the only folder, or
	// in the folder that contains them all. [IsReport] recognizes it among result
	// folders.
	Out string
	// Title replaces the title of the experiments; "" keeps it.
	Title string
	// Labels maps folders, as in Folders, to labels of their runs. The column of a
	// folder with one database is named by the label; the columns of a folder with
	// several are named by the label and the tag.
	Labels map[string]string
	// Need replaces the need of the experiments; nil keeps it.
	Need *workload.Need
	// Plots are the time plots to draw.
	Plots []Plot
	// PNG also draws each figure as a PNG file, which takes longer than everything else.
	// Seconds also writes the seconds of each run, by time, by keys and by number of
	// clients, in the CSV files of the classic tool: they repeat the records. Classic
	// implies both.
	PNG, Seconds bool
	// Trace also writes each run of a result folder as a trace, TAG-trace.json.gz, in Chrome's
	// trace event format.
	Trace bool
}

// Plot requests a plot over time: see [chart.Plot].
type Plot = chart.Plot

// Classic holds the runs of a classic experiment file.
type Classic struct {
	// Path is the file from which it was read, or "".
	Path               string
	Title, Description string
	Runs               []ClassicRun
	Report             ClassicReport
}

// ClassicRun names the input and output files of one database.
type ClassicRun struct {
	ClassicFiles
	// Outputs are the file's paths for a database's own outputs, by name
	// ("all-aggregated.csv", "server-memory-by-key-number.csv").
	Outputs map[string]string
}

// ClassicFiles is [run.ClassicFiles].
type ClassicFiles = run.ClassicFiles

// ClassicReport holds the paths of the outputs. An empty path leaves the default.
type ClassicReport struct {
	TableCSV, TableTXT, PlotDir, README string
	Images                              []Image
}

// Image is a picture of a classic README; Type is local or remote.
type Image struct{ Title, Path, Type string }
