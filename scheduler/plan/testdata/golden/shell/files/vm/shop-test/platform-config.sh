export A='007'
export B='2'
