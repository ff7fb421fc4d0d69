/* Dark or light */

const themeButton = document.getElementById('theme');
const isDark = () => (document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
function showTheme() { themeButton.textContent = isDark() ? 'Light' : 'Dark'; }
function turnTheme() { document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'; showTheme(); }
themeButton.addEventListener('click', turnTheme);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showTheme);
