module github.com/mozillazg/docker-credential-acr-helper

go 1.26.0
