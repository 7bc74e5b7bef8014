// Command samples does nothing: every component has a program of its name. What
// counts lies beside it: the tutorials' applications, built from their fixtures,
// for the images that the sandbox puts into the forge's registry.
package main

func main() {}
