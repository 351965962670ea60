package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// machineCPU is what all CPUs have done since the start, by /proc/stat; 0 and 0 where there is none.
func machineCPU() (busy, idle time.Duration) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		switch d := time.Duration(n) * time.Second / 100; { // USER_HZ
		case err != nil || i > 8: // the name; guests are counted as users already
		case i == 4 || i == 5: // idle, iowait
			idle += d
		default:
			busy += d
		}
	}
	return busy, idle
}
