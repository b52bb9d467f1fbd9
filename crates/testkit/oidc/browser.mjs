// Signs in with a real browser: headless Chromium opens a URL, signs in at the provider and grants consent. Argument,
// as JSON: url, login, until (prefix of the final URL), profile (an empty folder), confirm (whether a sign-in for the
// CLI has to be confirmed). Prints the final URL, the page text, the cookies and the confirmed code as one line of
// JSON.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const programs = ['/usr/bin/chromium', '/usr/bin/google-chrome'];
const { url, login, until, profile, confirm } = JSON.parse(process.argv[2]);
const context = await chromium.launchPersistentContext(profile, {
  executablePath: programs.find((program) => existsSync(program)),
  headless: true,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
try {
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(url);
  await page.fill('input[name=login]', login);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  // The consent page of the provider.
  await page.waitForSelector('form[action] input[name=prompt][value=consent]', { state: 'attached' });
  await page.click('button[type=submit]');
  let code = null;
  if (confirm) {
    code = await page.innerText('#code');
    await page.click('button[value=confirm]');
  }
  await page.waitForURL((at) => at.href.startsWith(until));
  const readable = await page.evaluate(() => document.cookie);
  console.log(JSON.stringify({ url: page.url(), text: await page.innerText('body'), cookies: await context.cookies(), readable, code }));
} finally {
  await context.close();
}
