module github.com/google/go-github/v73

go 1.26.0
