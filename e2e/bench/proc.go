package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc, 1/100 s on every Linux that Go
// runs on (sysconf(3), _SC_CLK_TCK).
const clockTick = 10 * time.Millisecond

// cpuTime returns what a process and all below it, ended ones too, have used of
// the CPU; 0 where /proc is not.
func cpuTime(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 15 {
		return 0
	}
	var sum time.Duration
	for _, field := range fields[11:15] { // user and system, of it and of ended children
		ticks, _ := strconv.Atoi(string(field))
		sum += time.Duration(ticks) * clockTick
	}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, child := range bytes.Fields(children) {
			if pid, err := strconv.Atoi(string(child)); err == nil {
				sum += cpuTime(pid)
			}
		}
	}
	return sum
}

// model names the processor, where the system has it.
func model() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
