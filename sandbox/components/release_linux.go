package components

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Release gives back the memory of the binary's pages that this process has read,
// of the payload and of code that runs once: they would count as this process's
// until it ends. What is needed again is read from the file again.
func Release() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// "55d0e8a00000-55d0f4a00000 r--p 00a00000 fe:00 123    /usr/bin/kalypso"
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "r--p" && fields[1] != "r-xp" || fields[5] != program {
			continue
		}
		var from, to uintptr
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &from, &to); err != nil {
			continue
		}
		// read-only pages of a file: the kernel drops them and nothing is lost
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
	}
}
