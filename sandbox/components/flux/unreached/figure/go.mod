module github.com/common-nighthawk/go-figure

go 1.26.0
