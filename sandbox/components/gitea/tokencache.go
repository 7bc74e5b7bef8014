package main

import (
	_ "unsafe" // for go:linkname

	_ "code.gitea.io/gitea/models/auth"

	lru "github.com/hashicorp/golang-lru/v2"
)

// tokens is how many access tokens are remembered. A sandbox has a handful.
const tokens = 200

// successfulAccessTokenCache spares Gitea ten thousand rounds of hashing, or a
// hundredth of a second, at every request with a token that it has seen
// before. Gitea has this cache and a setting for its size, but in this version
// never makes it: db.RegisterModel drops the functions that should.
//
//go:linkname successfulAccessTokenCache code.gitea.io/gitea/models/auth.successfulAccessTokenCache
var successfulAccessTokenCache *lru.Cache[string, any]

func init() {
	cache, err := lru.New[string, any](tokens)
	if err != nil {
		panic(err) // the size is not positive
	}
	successfulAccessTokenCache = cache
}
