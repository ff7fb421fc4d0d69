package analyze

import (
	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/workload"
)

// Options name the records to analyze and where the report goes.
type Options struct {
	// Folders are result folders, in the same order as the table columns. If a tag occurs in
	// several, the second becomes "TAG #2", and so on.
	Folders []string
	// Classic, if not nil, adds classic files as columns. Without Out its Report gives the output
	// paths.
	Classic *Classic
	// Out is the folder to write into. By default it is "report" in the only folder, or
	// in the folder that contains them all. [IsReport] recognizes it among result
	// folders.
	Out string
	// Title replaces the experiments' title; "" keeps it.
	Title string
	// Labels maps folders, as in Folders, to labels for their runs. If a folder has one database,
	// the label names its column; if it has several, the label and the tag name each column.
	Labels map[string]string
	// Need replaces the experiments' need; nil keeps it.
	Need *workload.Need
	// Plots are the time plots to draw.
	Plots []Plot
	// PNG also draws each figure as a PNG file, which takes longer than everything else. Seconds
	// also writes the seconds of each run, by time, by keys and by client count, in the classic
	// tool's CSV files: they repeat the records. Classic implies both.
	PNG, Seconds bool
	// Trace also writes each run from a result folder as a trace, TAG-trace.json.gz, in Chrome's
	// trace event format.
	Trace bool
}

// Plot requests a plot over time: see [chart.Plot].
type Plot = chart.Plot

// Classic holds the runs from a classic experiment file.
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
	// Outputs are the paths that the file gives for a database's own outputs, by name
	// ("all-aggregated.csv", "server-memory-by-key-number.csv").
	Outputs map[string]string
}

// ClassicFiles is [run.ClassicFiles].
type ClassicFiles = run.ClassicFiles

// ClassicReport holds the output paths. An empty path leaves the default.
type ClassicReport struct {
	TableCSV, TableTXT, PlotDir, README string
	Images                              []Image
}

// Image is a picture in a classic README; Type is local or remote.
type Image struct{ Title, Path, Type string }
