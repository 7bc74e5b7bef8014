// Argo CD's own configuration, and a list of the licences of what goes into
// the bundle, in the form that the builder reads: a rule of dashes, the
// package, a rule of dashes, the text.
const {readFileSync} = require('fs');
const {EsbuildPlugin} = require('esbuild-loader');
const {LicenseWebpackPlugin} = require('license-webpack-plugin');
const config = require('./src/app/webpack.config.js');

const rule = '-'.repeat(80);
const at = name => `${__dirname}/node_modules/${name}`;

// what is copied as it is, which the plugin does not see; redoc lists what it
// has inside in a file of its own
const copied = ['@fortawesome/fontawesome-free', 'redoc'].map(name => ({name, directory: at(name)}));
const inside = {redoc: at('redoc/bundles/redoc.standalone.js.LICENSE.txt')};

// some packages name a licence and have no text of it
const text = ({packageJson: {name, license, licenses}, licenseText}) =>
    [licenseText || `${license || licenses}\n`, inside[name] && readFileSync(inside[name], 'utf8')].filter(Boolean).join('\n');

config.plugins.push(
    new LicenseWebpackPlugin({
        perChunkOutput: false,
        outputFilename: 'licenses.txt',
        stats: {warnings: false, errors: true},
        additionalModules: copied,
        renderLicenses: modules =>
            modules
                // a folder of a package may have a package.json too, with no version
                .filter(m => m.packageJson.version)
                .map(m => `${rule}\n${m.packageJson.name}@${m.packageJson.version}\n${rule}\n${text(m)}\n`)
                .sort()
                .join('\n')
    })
);

// Terser, which is the default, takes a minute more for seven percent less
config.optimization = {minimizer: [new EsbuildPlugin({target: 'es2020', legalComments: 'none'})]};

module.exports = config;
