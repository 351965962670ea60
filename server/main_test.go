package server_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets more tests run at once than there are processors, unless the command line says how
// many: they mostly wait for the next run of a job.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("6"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
