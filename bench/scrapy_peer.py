"""The Scrapy peer, storing files: scrapy runspider scrapy_peer.py -a out=DIR -a seeds=FILE"""
import os
from urllib.parse import urldefrag, urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor


class Peer(scrapy.Spider):
    name = "peer"
    custom_settings = {
        "CONCURRENT_REQUESTS": 256,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "RETRY_ENABLED": False,
        "COOKIES_ENABLED": False,
    }
    links = LinkExtractor()

    def start_requests(self):
        with open(self.seeds) as lines:
            for line in lines:
                yield scrapy.Request(line.strip())

    def parse(self, response):
        url = urlsplit(response.url)
        path = url.path + "index.html" if url.path.endswith("/") else url.path
        name = os.path.join(self.out, url.hostname, path.lstrip("/"))
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as f:
            f.write(response.body)
        for link in self.links.extract_links(response):
            yield scrapy.Request(urldefrag(link.url).url)
