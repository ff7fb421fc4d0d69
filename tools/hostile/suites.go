package main

// suite is a test whose cases are in the table.
type suite struct {
	// made names the untrusted input.
	made string
	// pkg has the test.
	pkg, test string
	// expected is the outcome in every case.
	expected string
}

// suites lists the tests by untrusted input.
func suites() []suite {
	const (
		folders, files, answers   = "Run folders", "Experiment files", "Answers of servers"
		checkouts, stores, agents = "Checkouts", "Object stores", "Calls of agents"
	)
	return []suite{
		{folders, "./cmd/dbtester", "TestHostileFolders", "analyze, compare, submit, upload, cleanup and --collect show it, refuse it or cut it with the exit codes of cmd/dbtester/testdata/hostile-folders.md; nothing outside is read, written, shown or sent"},
		{folders, "./cmd/dbtester", "TestCleanupCredentials|TestCleanupAsks", "credentials go nowhere that a folder names, and nothing is removed without a yes"},
		{folders, "./control", "TestSharedCluster", "keys of others stay, also where a manifest has one of 14 edited prefixes"},
		{folders, "./analyze", "TestHostileText|TestHostileManifest|TestOutputFollowsNoLink", "texts are shown and obeyed by no terminal, page, spreadsheet or shell; a manifest leads nowhere"},
		{folders, "./analyze", "TestBrokenRecords", "a changed record is named, and changes no number silently"},
		{folders, "./pkg/results", "TestReadersRefuse", "records that are no regular files or have no end are refused"},
		{files, "./cmd/dbtester", "TestHostileFiles", "3,000 changed files of test-configs are accepted or refused, without a panic and in bounded time and memory"},
		{files, "./pkg/kube", "TestHostileTexts", "no text of an experiment makes an object of its own or a word of a command"},
		{answers, "./pkg/database/etcd", "TestRecordedAnswers", "1,024 changes of recorded answers for each transport: calls return, without a panic and without memory for what is only claimed"},
		{answers, "./pkg/database/zookeeper", "TestRecordedAnswers", "the same"},
		{answers, "./pkg/database/consul", "TestRecordedAnswers", "the same"},
		{answers, "./pkg/database/zetcd", "TestRecordedAnswers", "the same"},
		{answers, "./pkg/database/cetcd", "TestRecordedAnswers", "the same"},
		{answers, "./control/shared", "TestClaimOfOthers", "a claim that others wrote is an error"},
		{checkouts, "./pkg/install", "TestForeignCheckout", "what its configuration may run is refused, and nothing of it runs"},
		{stores, "./cmd/dbtester", "TestHostileStores", "analyze and compare fetch it within bounds or refuse it, and leave no copy"},
		{stores, "./pkg/remotestorage", "TestHostileStore|TestBounds.*|TestFolderOfOthers", "names, numbers and sizes have bounds; links and pipes are left out"},
		{agents, "./agent", "TestHostile.*", "calls are refused before anything is written or started"},
	}
}
