exports.codecovWebpackPlugin = () => ({apply() {}});
